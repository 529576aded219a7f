// Policy tests and the groups of users: who becomes a member by an administrator is held up, who
// leaves is not, and what a provider says is taken and noted. docs/api.md#policy-tests.

import test from 'ava';
import { write } from '../../../models/fixtures.ts';
import { groupsHearer } from '../../../../lib/domain/policy/memberships.ts';
import { type GroupsChange, readAuditEntries, writeTransaction } from '../../../../models/index.ts';
import { type LogLine, logInto, openServer, type TestServer } from '../../../support/api/server.ts';
import { databaseKinds, type TestDatabaseKind } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';
import { runTyped } from '../../../support/gateway/typed-command.ts';

const GROUPS = '/v0/groups';
const TESTS = '/v0/policy_tests';
const [ANN, BOB] = ['ann@example.com', 'bob@example.com'] as const;
const HOUR_MS = 3_600_000;

/** A group with a rule that accepts packets to 10.0.0.5, which Ann must not reach, nor Bob. */
async function openWorld(
  t: Parameters<typeof openServer>[0],
  kind: TestDatabaseKind,
  rule: object = {},
) {
  const server = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
  const { send, database } = server;
  const [ann, bob] = [
    await addUser(database, { email: ANN }),
    await addUser(database, { email: BOB }),
  ];
  const group = (await send('POST', GROUPS, { body: { group: { name: 'ops' } } })).body.data.id;
  const accepts = { action: 'accept', destination: '10.0.0.0/8', group_id: group, ...rule };
  const made = await send('POST', '/v0/rules', { body: { rule: accepts } });
  const packet = { destination: '10.0.0.5', protocol: 'tcp', port: 443 };
  const add = async (user_id: string, expect: string): Promise<string> => {
    const policy_test = { name: `${expect} ${user_id}`, user_id, ...packet, expect };
    return (await send('POST', TESTS, { body: { policy_test } })).body.data.id;
  };
  const tests = [await add(ann.id, 'drop'), await add(bob.id, 'drop')] as const;
  const post = (members: object, query = '') =>
    send('POST', `${GROUPS}/${group}/members${query}`, { body: { members } });
  return { ...server, ann, bob, group, ruleId: made.body.data.id as string, tests, add, post };
}

/** What the audit trail says of tests that fail. */
async function failures({ database }: Pick<TestServer, 'database'>): Promise<[string, object][]> {
  const entries = await readAuditEntries(database, { limit: 100, action: 'fail' });
  return entries.map(({ record_id: id, changes }) => [id, changes]);
}

for (const kind of databaseKinds()) {
  test(`${kind}: nobody becomes a member because of whom a test would fail, unless forced`, async (t) => {
    const world = await openWorld(t, kind);
    const { send, post, group, ann, ruleId, tests } = world;
    const words = (id: string): string =>
      `policy test "drop ${id}" would fail: it expects drop, but rule ${ruleId} would accept the packet`;
    const held = await post({ add: [ANN] });
    t.is(held.status, 422);
    t.deepEqual(held.body, { errors: { base: [words(ann.id)] } });
    const one = `${GROUPS}/${group}/members/${ANN}`;
    t.deepEqual((await send('PUT', `${one}?force=yes`)).body, held.body);
    t.deepEqual((await send('GET', `${GROUPS}/${group}/members`)).body.data, []);
    t.deepEqual(await failures(world), []);
    t.is((await send('PUT', `${one}?force=true`)).status, 200);
    t.like((await send('GET', `${TESTS}/${tests[0]}`)).body.data, { passes: false });
    t.deepEqual(await failures(world), [[tests[0], { forced: { to: true } }]]);
    t.is((await send('PUT', one)).status, 200, 'it fails already, and nothing changes');
    t.is((await post({ add: [BOB], remove: [ANN] })).status, 422, 'Bob still holds it up');
    t.is((await post({ add: [BOB], remove: [ANN] }, '?force=true')).status, 200);
    t.like((await send('GET', `${TESTS}/${tests[0]}`)).body.data, { passes: true });
    t.is((await failures(world)).length, 2);
  });

  test(`${kind}: who leaves a group is never held up, nor is its removal`, async (t) => {
    const world = await openWorld(t, kind);
    const { send, post, group, add, ann, bob, tests } = world;
    for (const id of tests) await send('DELETE', `${TESTS}/${id}`);
    t.is((await post({ add: [ANN, BOB] })).status, 200);
    const [ofAnn, ofBob] = [await add(ann.id, 'accept'), await add(bob.id, 'accept')];
    t.is((await send('DELETE', `${GROUPS}/${group}/members/${ANN}`)).status, 204);
    t.deepEqual(await failures(world), [[ofAnn, { forced: { to: false } }]]);
    t.is((await send('DELETE', `${GROUPS}/${group}`)).status, 204);
    t.deepEqual((await failures(world)).map(([id]) => id).toSorted(), [ofAnn, ofBob].toSorted());
  });

  test(`${kind}: whom a provider keeps in a group fails no test by leaving`, async (t) => {
    const world = await openWorld(t, kind);
    const { send, post, group, add, ann, tests, database } = world;
    for (const id of tests) await send('DELETE', `${TESTS}/${id}`);
    t.is((await post({ add: [ANN] })).status, 200);
    await write(database, (transaction) =>
      database.models.GroupMembership.create(
        { group_id: group, user_id: ann.id, source: 'oidc/okta' },
        { transaction },
      ),
    );
    await add(ann.id, 'accept');
    t.is((await send('DELETE', `${GROUPS}/${group}/members/${ANN}`)).status, 204);
    t.deepEqual(await failures(world), []);
  });

  test(`${kind}: a rule of the group that starts later is judged as of its start`, async (t) => {
    const starts_at = new Date(Date.now() + HOUR_MS).toISOString();
    const { post, send } = await openWorld(t, kind, { starts_at });
    const held = await post({ add: [ANN] });
    t.is(held.status, 422);
    t.true(String(held.body.errors.base).includes(`would fail from ${starts_at} on`));
    t.is((await post({ add: [ANN] }, '?force=true')).status, 200);
    t.false((await send('GET', TESTS)).body.data.some((one: { passes: boolean }) => !one.passes));
  });

  test(`${kind}: at the command line a member is held up, and --force insists`, async (t) => {
    const { database } = await openWorld(t, kind);
    const run = (line: string) =>
      runTyped(database, line, { settings: { DEFAULT_ACTION: 'drop' } });
    await t.throwsAsync(run(`group add ${ANN} --group ops`), {
      message: /^policy test "drop .* would accept the packet; with --force they become members/,
    });
    const { text, note } = await run(`group add ${ANN} --group ops --force`);
    t.is(text, '1 added.');
    t.regex(String(note), /^1 policy test\(s\) fail now; see: /);
  });

  test(`${kind}: what a provider says is noted and logged once, and holds nothing up`, async (t) => {
    const world = await openWorld(t, kind);
    const { database, services, ann, bob, group, tests } = world;
    const log: LogLine[] = [];
    const hear = groupsHearer({
      services: { config: services.config, database, log: logInto(log) },
      fixed: { default_action: 'drop' },
    });
    const change: GroupsChange = { userId: ann.id, before: [], after: [group] };
    const written = (one: GroupsChange) => writeTransaction(database, (tx) => hear(one, tx));
    await written(change);
    t.deepEqual(await failures(world), [[tests[0], { forced: { to: false } }]]);
    t.is(log.length, 1);
    t.like(log[0]?.fields, { user_id: ann.id, count: 1, policy_tests: [tests[0]] });
    await written({ ...change, before: [group], after: [] });
    await written({ userId: bob.id, before: [], after: [] });
    await t.throwsAsync(
      writeTransaction(database, async (transaction) => {
        await hear({ ...change, userId: bob.id }, transaction);
        throw new Error('undone');
      }),
    );
    t.is(log.length, 1, 'what is undone is not logged');
    t.is((await failures(world)).length, 1);
  });
}
