// People of a list join groups as members are added: in the transaction that makes their links,
// within the limits of groups, and held up by policy tests.

import test from 'ava';
import type { Outcome } from '../../../../lib/cli/run.ts';
import { GROUPS_OF_USER_MAX, readAuditEntries } from '../../../../models/index.ts';
import { openServer } from '../../../support/api/server.ts';
import { databaseKinds, type TestDatabaseKind } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';
import { runTyped } from '../../../support/gateway/typed-command.ts';

const [ANN, EVE] = ['ann@example.com', 'eve@example.com'] as const;

async function openWorld(t: Parameters<typeof openServer>[0], kind: TestDatabaseKind) {
  const server = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
  const { send, database } = server;
  const post = async (path: string, body: object): Promise<string> => {
    const answer = await send('POST', path, { body });
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body.data.id;
  };
  const addGroup = (name: string) => post('/v0/groups', { group: { name } });
  const enrol = (line: string, stdin = ''): Promise<Outcome> =>
    runTyped(database, `user enrol ${line}`, { stdin, settings: { DEFAULT_ACTION: 'drop' } });
  /** The names of the groups of a user. */
  const groupsOf = async (email: string): Promise<string[]> => {
    const user = await send('GET', `/v0/users/${email}`);
    const { body } = await send('GET', `/v0/groups?user_id=${user.body.data.id}`);
    return body.data.map(({ name }: { name: string }) => name).toSorted();
  };
  return { ...server, post, addGroup, enrol, groupsOf };
}

for (const kind of databaseKinds()) {
  test(`${kind}: people join the groups of their line, and those for everybody`, async (t) => {
    const { database, addGroup, enrol, groupsOf } = await openWorld(t, kind);
    await addUser(database, { email: ANN });
    for (const name of ['staff', 'big; team', 'vpn']) await addGroup(name);
    const all = await addGroup('all');
    const list = `email,name,groups\n${ANN},Ann,staff|"\n${EVE},Eve,"staff| big; team |staff"\n`;
    await t.throwsAsync(enrol('--file -', list), { message: /^- line 2: there is no group “"”/ });
    const good = list.replace('|"', '');
    await enrol(`--file - --group vpn,${all.toUpperCase()}`, good);
    t.deepEqual(await groupsOf(ANN), ['all', 'staff', 'vpn']);
    t.deepEqual(await groupsOf(EVE), ['all', 'big; team', 'staff', 'vpn']);
    const joined = await readAuditEntries(database, { kind: 'group_membership', limit: 100 });
    t.is(joined.length, 7);
    await enrol('--file -', good);
    t.is(await database.models.GroupMembership.count(), 7, 'who is in a group stays so');
    await enrol('bob@example.com --create-user --group staff');
    t.deepEqual(await groupsOf('bob@example.com'), ['staff']);
  });

  test(`${kind}: new people who look like others of the list, or like users, are errors`, async (t) => {
    const { database, enrol } = await openWorld(t, kind);
    await addUser(database, { email: ANN });
    const wide = '\uff41nn@example.com';
    const users = await database.models.User.count();
    const list = `${ANN}\n${wide}\nkim@example.com\nk\u0131m@example.com\n`;
    const words = (email: string) => `${email} looks like the address of another user`;
    await t.throwsAsync(enrol('--file -', list), {
      message: `- line 2: ${words(wide)}; line 4: ${words('k\u0131m@example.com')}`,
    });
    await t.throwsAsync(enrol(`${wide} --create-user`), { message: words(wide) });
    t.is(await database.models.User.count(), users);
    await addUser(database, { email: wide });
    await enrol('--file -', `${ANN}\n${wide}\n`);
    t.is(await database.models.User.count(), users + 1, 'a pair of before stays');
  });

  test(`${kind}: an unknown group or one too many is an error, and nobody is made`, async (t) => {
    const { database, addGroup, enrol } = await openWorld(t, kind);
    await addGroup('staff');
    const many = Array.from({ length: GROUPS_OF_USER_MAX }, (_, i) => `g${i}`);
    for (const name of many) await addGroup(name);
    const users = await database.models.User.count();
    const refused: [line: string, list: string, message: string | RegExp][] = [
      [
        '--file -',
        `email,group\n${ANN},staff\n${EVE},Staf\n`,
        '- line 3: there is no group “Staf”; correct the name, or make the group first',
      ],
      ['--file - --group x,staff', ANN, /^--group: there is no group “x”; correct the name/],
      ['--file - --group x', `email,group\n${ANN},y\n`, /^--group: .*“x”.*; - line 2: .*“y”/],
      [
        '--file - --group staff',
        `email,groups\n${EVE},\n${ANN},${many.join('|')}\n`,
        /^- line 3: ann@example\.com would be in 17 groups, and 16 are the most; name fewer/,
      ],
    ];
    const endless = Array.from({ length: 50_000 }, (_, i) => `x${i}`).join('|');
    refused.push(['--file -', `email,groups\n${EVE},${endless}\n`, /would be in 50000 groups/]);
    for (const [line, list, message] of refused)
      await t.throwsAsync(enrol(line, list), { message }, list);
    t.is(await database.models.User.count(), users);
    t.is(await database.models.OneTimeLink.count(), 0);
    await enrol('--file -', `email,groups\n${ANN},${many.join('|')}\n`);
    await t.throwsAsync(enrol(`${ANN} --group staff`), { message: /^ann@example\.com would be/ });
  });

  test(`${kind}: a policy test holds people up, unless somebody insists`, async (t) => {
    const { database, post, addGroup, enrol, groupsOf } = await openWorld(t, kind);
    const { id: user_id } = await addUser(database, { email: ANN });
    const group_id = await addGroup('ops');
    const rule = { action: 'accept', destination: '10.0.0.0/8', group_id };
    await post('/v0/rules', { rule });
    const packet = { destination: '10.0.0.5', protocol: 'tcp', port: 443 };
    const policy_test = { name: 'not Ann', user_id, ...packet, expect: 'drop' };
    const id = await post('/v0/policy_tests', { policy_test });
    const list = `email,groups\n${EVE},ops\n${ANN},ops\n`;
    await t.throwsAsync(enrol('--file -', list), {
      message: /^policy test "not Ann" would fail: .*; with --force they become members anyway$/,
    });
    t.is(await database.models.OneTimeLink.count(), 0);
    t.deepEqual(await groupsOf(ANN), []);
    const { note } = await enrol('--file - --force', list);
    t.regex(note ?? '', /\n1 policy test\(s\) fail now; see: /);
    t.deepEqual(await groupsOf(ANN), ['ops']);
    const [entry] = await readAuditEntries(database, { action: 'fail', limit: 1 });
    t.like(entry, { record_id: id, changes: { forced: { to: true } } });
  });
}
