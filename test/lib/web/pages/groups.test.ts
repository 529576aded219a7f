// Groups in the console: added, named, filled with members, and deleted with their rules.

import test from 'ava';
import { writeTransaction } from '../../../../models/index.ts';
import { write } from '../../../models/fixtures.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';

const GROUPS = '/users/groups';

for (const kind of firstKind()) {
  test(`${kind}: only administrators see and change groups`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database } = console;
    await admin.get(`${GROUPS}/new`);
    const made = await admin.post(`${GROUPS}/new`, { name: 'Engineering', description: '' });
    const { id } = await database.models.Group.findOne({ rejectOnEmpty: true });
    t.is(made.location, `${GROUPS}/${id}`);
    await checkGuard(t, console, {
      pages: [GROUPS, `${GROUPS}/new`, `${GROUPS}/${id}`, `${GROUPS}/people`, `${GROUPS}/names`],
      forms: [
        `${GROUPS}/new`,
        `${GROUPS}/${id}`,
        ...['members', 'remove_member', 'delete'].map((verb) => `${GROUPS}/${id}/${verb}`),
      ],
    });
    t.is(await database.models.Group.count(), 1);
    for (const path of [`${GROUPS}/x`, `${GROUPS}/00000000-0000-0000-0000-000000000000`]) {
      t.is((await admin.get(path)).status, 404, path);
      for (const verb of ['', '/members', '/remove_member', '/delete'])
        t.is((await admin.post(`${path}${verb}`, { add: 'user@example.com' })).status, 404, path);
    }
  });

  test(`${kind}: groups are found, counted and shown with who made them`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    const openid_connect_providers = [oidcEntry({ label: 'Our Okta' })];
    await write(database, (transaction) =>
      row.update({ openid_connect_providers }, { transaction }),
    );
    const { result: groups } = await writeTransaction(database, (transaction) =>
      database.models.Group.bulkCreate(
        [
          { name: 'Staff', provider: 'oidc/okta' },
          { name: 'Guests', description: 'in the lobby' },
        ],
        { transaction },
      ),
    );
    const staff = groups[0]!.id;
    await writeTransaction(database, async (transaction) => {
      const membership = { group_id: staff, user_id: plainUser.id };
      await database.models.GroupMembership.create(
        { ...membership, source: 'oidc/okta' },
        { transaction },
      );
      await database.models.Rule.create(
        { group_id: staff, action: 'accept', destination: '10.0.0.0/8' },
        { transaction },
      );
    });
    const found = async (query: string) => {
      const { text } = await admin.get(`${GROUPS}?${query}`);
      return ['Staff', 'Guests'].filter((name) => text.includes(`>${name}</a>`));
    };
    t.deepEqual(await found(''), ['Staff', 'Guests']);
    t.deepEqual(await found('q=LOBBY'), ['Guests']);
    t.deepEqual(await found('state=by_provider'), ['Staff']);
    t.deepEqual(await found('state=manual'), ['Guests']);
    t.deepEqual(await found('state=empty'), ['Guests']);
    const { text } = await admin.get(GROUPS);
    t.true(text.includes('made by Our Okta'));
    const page = (await admin.get(`${GROUPS}/${staff}`)).text;
    t.true(page.includes('The identity provider Our Okta made this group.'));
    t.false(page.includes('oidc/okta'));
    t.true(text.includes(`href="/users?group=${staff}">1 member</a>`));
    t.true(text.includes(`href="/rules?group=${staff}">1 rule</a>`));
    t.true((await admin.get(`/users?group=${staff}`)).text.includes(`/users/${plainUser.id}`));
    t.true((await admin.get(`/users?group=${groups[1]!.id}`)).text.includes('No user is found'));
    const csv = (await admin.get(`${GROUPS}.csv`)).text;
    t.true(csv.includes(`${staff},Staff,,oidc/okta,1,1`), csv);
  });

  test(`${kind}: a thousand e-mails fit, and more are refused in words`, async (t) => {
    const { admin, user, database } = await openConsole(t, kind);
    await admin.get(`${GROUPS}/new`);
    await admin.post(`${GROUPS}/new`, { name: 'Everybody', description: '' });
    const { id } = await database.models.Group.findOne({ rejectOnEmpty: true });
    const emails = Array.from({ length: 1_000 }, (_, i) => `u${i}@${'long.'.repeat(48)}example`);
    const people = [...emails, 'ann@example.com'].map(
      (email) => ({ email, role: 'unprivileged' }) as const,
    );
    await writeTransaction(database, (transaction) =>
      database.models.User.bulkCreate(people, { transaction }),
    );
    const path = `${GROUPS}/${id}/members`;
    await admin.get(`${GROUPS}/${id}`);
    const added = await admin.post(path, { add: emails.join('\r\n') });
    t.is(added.status, 303, added.text.slice(0, 500));
    t.is(await database.models.GroupMembership.count(), 1_000);
    const lines = { add: `"Archer, Ann" <ann@example.com>, U <${emails[0]}>\r\n${emails[1]}` };
    t.is((await admin.post(path, lines)).status, 303, 'as mail programs write them');
    t.is(await database.models.GroupMembership.count(), 1_001);
    const many = Array.from({ length: 1_001 }, (_, i) => `u${i}`).join(' ');
    const refused = await admin.post(path, { add: many, do: 'known' });
    t.regex(refused.text, /id="field-add-error">Please give at most 1000 entries</);
    const endless = { add: `${emails.join('\r\n')} `.repeat(5) };
    t.is((await admin.post(path, endless)).status, 413);
    t.is((await user.post(path, endless)).status, 403);
  });

  test(`${kind}: a group gets members, is renamed, and goes with its rules`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    t.true((await admin.get(GROUPS)).text.includes('No groups yet'));
    await admin.get(`${GROUPS}/new`);
    await admin.post(`${GROUPS}/new`, { name: ' Engineering ', description: 'builds' });
    const group = await database.models.Group.findOne({ rejectOnEmpty: true });
    const here = `${GROUPS}/${group.id}`;
    await addUser(database, { email: 'bob@example.com' });
    const add = 'USER@example.com;bob@example.com';
    t.is((await admin.post(`${here}/members`, { add })).location, here);
    const page = (await admin.get(here)).text;
    for (const words of ['2 users are new members', 'user@example.com', 'an administrator'])
      t.true(page.includes(words), words);
    t.regex((await admin.get(GROUPS)).text, /Engineering[\s\S]*>\s*2 members</);
    t.true((await admin.get(`/users/${plainUser.id}`)).text.includes(`${here}">Engineering`));

    await write(database, (transaction) =>
      database.models.GroupMembership.create(
        { group_id: group.id, user_id: plainUser.id, source: 'oidc/okta' },
        { transaction },
      ),
    );
    const question = 'You take back that an administrator says so.';
    t.true((await admin.get(here)).text.includes(question));
    await admin.post(`${here}/remove_member`, { user: plainUser.id });
    const kept = (await admin.get(here)).text;
    t.true(kept.includes('The user stays a member because of okta alone.'));
    t.false(kept.includes(`remove-${plainUser.id}`), 'what the provider says is not removed here');
    // As from a page that was open meanwhile.
    await admin.post(`${here}/remove_member`, { user: plainUser.id });
    const refused = (await admin.get(here)).text;
    t.true(refused.includes('>user@example.com is a member because the identity provider'));
    await write(database, (transaction) =>
      database.models.GroupMembership.destroy({ where: { source: 'oidc/okta' }, transaction }),
    );
    t.false((await admin.get(here)).text.includes('user@example.com'));
    await admin.post(here, { name: 'Platform', description: '' });
    t.is((await group.reload()).name, 'Platform');

    await admin.get('/rules/new');
    const rule = { action: 'drop', destination: '10.9.0.0/16', whose: 'Platform' };
    t.is((await admin.post('/rules/new', { ...rule, enabled: 'true' })).status, 303);
    // One is chosen by a part of the e-mail or name.
    const offered = await admin.get(`${GROUPS}/people?q=USER%40`);
    const offer = { value: 'user@example.com', label: 'user@example.com' };
    t.deepEqual(JSON.parse(offered.text), { offers: [offer] });
    const unknown = await admin.post(`${here}/members`, { one: 'nobody@example.com', add: '' });
    t.regex(unknown.text, /id="field-one-error">nobody@example\.com is no user/);
    t.is((await admin.post(`${here}/members`, { one: offer.value, add: '' })).location, here);

    const full = (await admin.get(here)).text;
    t.true(full.includes(`href="/rules?group=${group.id}">Rules for this group`));
    t.true((await admin.get(`/rules?group=${group.id}`)).text.includes('10.9.0.0/16'));
    t.true((await admin.get('/rules')).text.includes('>group Platform<'));
    const [, adding = ''] = /href="(\/rules\/new\?group=[^"]*)"/.exec(full) ?? [];
    t.regex((await admin.get(adding)).text, /value="group Platform" id="field-whose"/);
    t.is((await admin.post(`${here}/delete`)).location, GROUPS);
    t.is(await database.models.Rule.count(), 0);
    t.is(await database.models.User.count({ where: { email: 'bob@example.com' } }), 1);
  });

  test(`${kind}: errors are shown at their fields, and what was typed is kept`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get(`${GROUPS}/new`);
    const empty = await admin.post(`${GROUPS}/new`, { name: ' ', description: 'kept' });
    t.is(empty.status, 422);
    t.true(empty.text.includes('Please fill this in') && empty.text.includes('kept'));
    checkText(t, await admin.post(`${GROUPS}/new`, { name: NASTY, description: NASTY }), 'made');
    await admin.get(`${GROUPS}/new`);
    await admin.post(`${GROUPS}/new`, { name: 'Sales', description: '' });
    const twice = await admin.post(`${GROUPS}/new`, { name: 'Sales', description: '' });
    t.regex(twice.text, /has already been taken|already/);
    const group = await database.models.Group.findOne({ where: { name: 'Sales' } });
    const here = `${GROUPS}/${group?.id}`;
    const wrong = await admin.post(`${here}/members`, { add: 'nobody@example.com' });
    t.is(wrong.status, 422);
    t.true(wrong.text.includes('nobody@example.com is no user'));
    checkText(t, await admin.post(`${here}/members`, { add: NASTY }), 'the members');
    checkText(t, await admin.get(`${GROUPS}?after=${encodeURIComponent(NASTY)}`), 'the list');
  });

  test(`${kind}: of a list with unknown people nobody is added, until somebody says what is to be done`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await addUser(database, { email: 'ann@example.com' });
    await addUser(database, { email: 'bob@example.com' });
    await admin.get(`${GROUPS}/new`);
    await admin.post(`${GROUPS}/new`, { name: 'Staff', description: '' });
    const group = await database.models.Group.findOne({ rejectOnEmpty: true });
    const here = `${GROUPS}/${group.id}`;
    const members = () => database.models.GroupMembership.count();
    const add = 'ann@example.com, BOB@example.com\r\ncarl@example.com; Dan <dan@example.com>';
    const refused = await admin.post(`${here}/members`, { one: '', add });
    t.is(refused.status, 422);
    t.regex(refused.text, /-error">These are no users: carl@example\.com, dan@example\.com</);
    t.regex(refused.text, /ann@example\.com, BOB@example\.com\r\ncarl@example\.com; Dan/);
    t.regex(refused.text, /name="do" value="known">Add the 2 known ones</);
    t.regex(refused.text, /value="known invite">Add them and invite the others</);
    t.is(await members(), 0);

    t.is((await admin.post(`${here}/members`, { one: '', add, do: 'known' })).location, here);
    const said = 'users are new members. These are no users: carl@example.com, dan@example.com.';
    t.true((await admin.get(here)).text.includes(`2 ${said}`));
    t.is(await members(), 2);

    const invited = await admin.post(`${here}/members`, { one: '', add, do: 'known invite' });
    const form = (await admin.get(invited.location ?? '')).text;
    t.regex(form, /<textarea[^>]*>\s*carl@example\.com\ndan@example\.com</);
    t.true(form.includes('value="Staff"'));

    // Nobody of them is known: there is nothing to add.
    const one = { one: 'carl@example.com', add: '' };
    const alone = (await admin.post(`${here}/members`, one)).text;
    t.regex(alone, /id="field-one-error">carl@example\.com is no user</);
    t.regex(alone, /value="known invite">Invite them</);
    t.notRegex(alone, /value="known">/);
    const next = await admin.post(`${here}/members`, { ...one, do: 'known invite' });
    t.regex(next.location ?? '', /^\/users\/enrol\?email=carl%40example\.com&groups=Staff$/);
    const names = await admin.post(`${here}/members`, { one: 'ann@example.com', add: 'Carl' });
    t.regex(names.text, /id="field-add-error">Carl is no user</);
    t.regex(names.text, />Add the known one</);
    t.notRegex(names.text, /invite/, 'who has no e-mail is not invited');
    const name = await admin.post(`${here}/members`, { one: ' Ann Archer ', add: '' });
    t.regex(name.text, /id="field-one-error">No user has the e-mail “Ann Archer”</);
  });

  test(`${kind}: a policy test holds up known people of a list, until somebody insists`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    await admin.get(`${GROUPS}/new`);
    await admin.post(`${GROUPS}/new`, { name: 'Staff', description: '' });
    const group = await database.models.Group.findOne({ rejectOnEmpty: true });
    await write(database, async (transaction) => {
      const rule = { group_id: group.id, action: 'drop', destination: '10.0.0.0/8' } as const;
      await database.models.Rule.create(rule, { transaction });
    });
    await admin.get('/rules/policy_tests/new');
    const test = { name: 'Wiki', user_id: plainUser.email, destination: '10.0.0.5' };
    const sent = { ...test, device_id: '', protocol: 'tcp', port: '443', expect: 'accept' };
    t.is((await admin.post('/rules/policy_tests/new', sent)).status, 303);
    const path = `${GROUPS}/${group.id}/members`;
    const list = { one: '', add: `${plainUser.email} carl@example.com` };
    const held = await admin.post(path, { ...list, do: 'known' });
    t.is(held.status, 422);
    t.regex(held.text, /value="known force">Add them anyway</);
    t.is((await admin.post(path, { ...list, do: 'known force' })).status, 303);
    t.is(await database.models.GroupMembership.count(), 1);
  });

  test(`${kind}: many groups come in pages, by their names`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get(`${GROUPS}/new`);
    for (let i = 0; i < 101; i += 1)
      await admin.post(`${GROUPS}/new`, { name: `group ${i}`, description: '' });
    const first = (await admin.get(GROUPS)).text;
    t.true(first.includes('1 to 50 of 101'));
    t.regex(first, /group 100</);
    t.false(first.includes('group 99<'));
    t.true((await admin.get(`${GROUPS}?page=3`)).text.includes('group 99<'));
    t.is(await database.models.Group.count(), 101);
  });
}
