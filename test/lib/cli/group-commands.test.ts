// The commands of groups: they make what the API makes, and say what is wrong as it does.

import test from 'ava';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import type { Database } from '../../../models/index.ts';
import { addUser, write } from '../../models/fixtures.ts';
import { oidcEntry } from '../../support/auth/provider-entries.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

const runLine = (
  database: Database,
  line: string,
  settings: Record<string, string> = {},
): Promise<Outcome> => runTyped(database, line, { settings });

for (const kind of databaseKinds()) {
  test(`${kind}: a group is made, filled, listed, emptied and removed`, async (t) => {
    const database = await openDatabase(t, kind);
    const ann = await addUser(database, { email: 'ann@b.example' });
    const bob = await addUser(database, { email: 'bob@b.example' });
    const made = await runLine(database, 'group create --name ops --description servers');
    t.like(made.data, { id: made.text, name: 'ops', description: 'servers' });
    const added = await runLine(database, `group add ann@b.example ${bob.id} --group ops`);
    t.deepEqual(added, { text: '2 added.', data: { added: 2, removed: 0 } });
    const { text } = await runLine(database, `group members --group ${made.text}`);
    t.regex(
      text,
      /^ID +E-MAIL +SOURCE *\n.* ann@b\.example +manual *\n.* bob@b\.example +manual *$/,
    );
    await runLine(database, 'group create --name sales');
    t.regex((await runLine(database, 'group list')).text, / ops +servers *\n.* sales *$/);
    const ofAnn = await runLine(database, 'group list --email ann@b.example');
    t.like(ofAnn.data, [{ id: made.text }]);
    const removed = await runLine(database, 'group remove bob@b.example --group ops');
    t.deepEqual(removed, { text: '1 removed.', data: { added: 0, removed: 1 } });
    const { data } = await runLine(database, 'group members --group ops');
    t.deepEqual(data, [{ id: ann.id, email: 'ann@b.example', sources: ['manual'] }]);
    const gone = await runLine(database, 'group delete --group ops');
    t.deepEqual(gone, {
      text: 'ops is removed, with its rules.',
      data: { id: made.text, removed: true },
    });
  });

  test(`${kind}: a group is renamed and described, and entries of providers follow`, async (t) => {
    const database = await openDatabase(t, kind);
    const made = await runLine(database, 'group create --name ops --description servers');
    await runLine(database, 'group create --name sales');
    const entry = oidcEntry({ groups_claim: 'groups', groups_map: { o: 'ops' } });
    await write(database, (transaction) =>
      database.models.Configuration.create({ openid_connect_providers: [entry] }, { transaction }),
    );
    const changed = await runLine(database, 'group update --group ops --name Operations');
    t.is(changed.text, 'Operations is changed.');
    t.like(changed.data, { id: made.text, name: 'Operations', description: 'servers' });
    const { openid_connect_providers: entries } = await database.models.Configuration.findOne({
      rejectOnEmpty: true,
    });
    t.deepEqual(entries[0]?.groups_map, { o: 'Operations' });
    const byId = await runLine(database, `group update --group ${made.text} --description=`);
    t.like(byId.data, { name: 'Operations', description: null });
    const errors: [line: string, message: RegExp][] = [
      ['group update --group Operations', /^nothing to change was given; for example: --name /],
      ['group update --group x --name y', /^there is no group x; see: .* group list$/],
      ['group update --group sales --name Operations', /^name: has already been taken$/],
      [`group update --group sales --name ${made.text}`, /^name: is a UUID, which means the group/],
    ];
    for (const [bad, message] of errors) await t.throwsAsync(runLine(database, bad), { message });
    await runLine(database, 'group update --group Operations --name ops');
    const settings = { OPENID_CONNECT_PROVIDERS: JSON.stringify([entry]) };
    const run = runLine(database, 'group update --group ops --name Operations', settings);
    await t.throwsAsync(run, { message: /^name: is used by .*, which the environment fixes; / });
  });

  test(`${kind}: whom a provider keeps in a group is named`, async (t) => {
    const database = await openDatabase(t, kind);
    const ann = await addUser(database, { email: 'ann@b.example' });
    const group_id = (await runLine(database, 'group create --name ops')).text;
    await runLine(database, 'group add ann@b.example --group ops');
    for (const source of ['oidc/okta', 'saml/x'])
      await write(database, (transaction) =>
        database.models.GroupMembership.create(
          { group_id, user_id: ann.id, source },
          { transaction },
        ),
      );
    const removed = await runLine(database, 'group remove ann@b.example --group ops');
    t.deepEqual(removed.data, { added: 0, removed: 1 });
    t.is(
      removed.text,
      '1 removed.\nann@b.example stays a member because the identity providers "oidc/okta", "saml/x" say so; change it there.',
    );
    await t.throwsAsync(runLine(database, 'group remove ann@b.example --group ops'), {
      message: /^remove: ann@b.example is a member because the identity provider "oidc\/okta" says/,
    });
  });

  test(`${kind}: rules are made and listed for a group`, async (t) => {
    const database = await openDatabase(t, kind);
    const group = await runLine(database, 'group create --name ops');
    const rule = await runLine(database, 'rule create --destination 10.0.0.0/8 --group ops');
    t.like(rule.data, { user_id: null, group_id: group.text });
    await runLine(database, 'rule create --destination 10.0.0.0/8');
    t.regex(
      (await runLine(database, 'rule list')).text,
      / group ops +enabled[^]* everyone +enabled/,
    );
    t.is(((await runLine(database, 'rule list --group ops')).data as unknown[]).length, 1);
    const errors: [line: string, message: RegExp][] = [
      ['rule create --destination 10.0.0.0/8 --group ops', /overlaps with an existing rule/],
      [
        'rule create --destination 10.0.0.0/8 --group x',
        /^there is no group x; see: .* group list$/,
      ],
      ['group create --name ops', /^name: has already been taken$/],
      ['group add x@y --group ops', /^add: x@y is no user; give the id or the e-mail of one$/],
      ['group delete --group x', /^there is no group x/],
    ];
    for (const [bad, message] of errors) await t.throwsAsync(runLine(database, bad), { message });
  });
}

test('a rule is of a user or of a group', async (t) => {
  const both = 'rule create --destination 10.0.0.1 --email a@b --group ops';
  const parsed = await parseCommandLine(both.split(' '));
  t.regex('error' in parsed ? parsed.error : '', /^--email and --group exclude each other/);
});
