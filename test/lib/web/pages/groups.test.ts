// Groups in the console: added, named, filled with members, and deleted with their rules.

import test from 'ava';
import { writeTransaction } from '../../../../models/index.ts';
import { write } from '../../../models/fixtures.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';
import { judgeGuard, judgeText, NASTY, openConsole } from '../../../support/web/console.ts';

const GROUPS = '/users/groups';

for (const kind of firstKind()) {
  test(`${kind}: only administrators see and change groups`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database } = console;
    await admin.get(`${GROUPS}/new`);
    const made = await admin.post(`${GROUPS}/new`, { name: 'Engineering', description: '' });
    const { id } = await database.models.Group.findOne({ rejectOnEmpty: true });
    t.is(made.location, `${GROUPS}/${id}`);
    await judgeGuard(t, console, {
      pages: [GROUPS, `${GROUPS}/new`, `${GROUPS}/${id}`],
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

  test(`${kind}: a thousand e-mails fit, and more are refused in words`, async (t) => {
    const { admin, user, database } = await openConsole(t, kind);
    await admin.get(`${GROUPS}/new`);
    await admin.post(`${GROUPS}/new`, { name: 'Everybody', description: '' });
    const { id } = await database.models.Group.findOne({ rejectOnEmpty: true });
    const emails = Array.from({ length: 1_000 }, (_, i) => `u${i}@${'long.'.repeat(48)}example`);
    const people = emails.map((email) => ({ email, role: 'unprivileged' }) as const);
    await writeTransaction(database, (transaction) =>
      database.models.User.bulkCreate(people, { transaction }),
    );
    const path = `${GROUPS}/${id}/members`;
    await admin.get(`${GROUPS}/${id}`);
    const added = await admin.post(path, { add: emails.join('\r\n') });
    t.is(added.status, 303, added.text.slice(0, 500));
    t.is(await database.models.GroupMembership.count(), 1_000);
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
    t.regex((await admin.get(GROUPS)).text, /Engineering[\s\S]*>\s*2</);
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
    t.true(kept.includes('The user stays a member because of oidc/okta alone.'));
    t.false(kept.includes(`remove-${plainUser.id}`), 'what the provider says is not removed here');
    await write(database, (transaction) =>
      database.models.GroupMembership.destroy({ where: { source: 'oidc/okta' }, transaction }),
    );
    t.false((await admin.get(here)).text.includes('user@example.com'));
    await admin.post(here, { name: 'Platform', description: '' });
    t.is((await group.reload()).name, 'Platform');

    await admin.get('/rules/new');
    const rule = { action: 'drop', destination: '10.9.0.0/16', group_id: 'Platform' };
    t.is((await admin.post('/rules/new', { ...rule, enabled: 'true' })).status, 303);
    const full = (await admin.get(here)).text;
    t.regex(full, /One rule is for this group.*href="\/rules\?q=Platform&amp;state=one_group"/);
    t.true((await admin.get('/rules?q=Platform&state=one_group')).text.includes('10.9.0.0/16'));
    t.true((await admin.get('/rules')).text.includes(`href="${here}">group Platform<`));
    const [, adding = ''] = /href="(\/rules\/new\?group=[^"]*)"/.exec(full) ?? [];
    t.regex((await admin.get(adding)).text, /value="Platform" id="field-group_id"/);
    t.is((await admin.post(`${here}/delete`)).location, GROUPS);
    t.is(await database.models.Rule.count(), 0);
    t.is(await database.models.User.count({ where: { email: 'bob@example.com' } }), 1);
  });

  test(`${kind}: faults are shown at their fields, and what was typed is kept`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get(`${GROUPS}/new`);
    const empty = await admin.post(`${GROUPS}/new`, { name: ' ', description: 'kept' });
    t.is(empty.status, 422);
    t.true(empty.text.includes('Please fill this in') && empty.text.includes('kept'));
    judgeText(t, await admin.post(`${GROUPS}/new`, { name: NASTY, description: NASTY }), 'made');
    await admin.get(`${GROUPS}/new`);
    await admin.post(`${GROUPS}/new`, { name: 'Sales', description: '' });
    const twice = await admin.post(`${GROUPS}/new`, { name: 'Sales', description: '' });
    t.regex(twice.text, /has already been taken|already/);
    const group = await database.models.Group.findOne({ where: { name: 'Sales' } });
    const here = `${GROUPS}/${group?.id}`;
    const wrong = await admin.post(`${here}/members`, { add: 'nobody@example.com' });
    t.is(wrong.status, 422);
    t.true(wrong.text.includes('nobody@example.com is no user; give the id or the e-mail of one'));
    judgeText(t, await admin.post(`${here}/members`, { add: NASTY }), 'the members');
    judgeText(t, await admin.get(`${GROUPS}?after=${encodeURIComponent(NASTY)}`), 'the list');
  });

  test(`${kind}: many groups and members come in pages`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get(`${GROUPS}/new`);
    for (let i = 0; i < 101; i += 1)
      await admin.post(`${GROUPS}/new`, { name: `group ${i}`, description: '' });
    const first = (await admin.get(GROUPS)).text;
    const [, next = ''] = /href="([^"]*\?after=[^"]*)"/.exec(first) ?? [];
    t.regex(first, /group 99</);
    t.false(first.includes('group 100<'));
    const second = (await admin.get(next.replaceAll('&amp;', '&'))).text;
    t.true(second.includes('group 100<'));
    t.is(await database.models.Group.count(), 101);
  });
}
