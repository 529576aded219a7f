// Which writes of rules policy tests hold up, and what is kept of those that go through.
// docs/api.md#policy-tests.

import test from 'ava';
import { POLICY_TESTS_MAX } from '../../../../lib/domain/policy-tests/policy-tests.ts';
import { readAuditEntries, writeTransaction } from '../../../../models/index.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { openServer, surfaces, type TestServer } from '../../../support/api/server.ts';

const RULES = '/v0/rules';
const TESTS = '/v0/policy_tests';

/** Makes a policy test that a packet to 10.0.0.5, TCP 443, has this fate. */
async function expectWiki(
  { send, adminId }: TestServer,
  expect: 'accept' | 'drop',
  fields: object = {},
): Promise<string> {
  const packet = { destination: '10.0.0.5', protocol: 'tcp', port: 443 };
  const policy_test = { name: 'wiki', user_id: adminId, ...packet, expect, ...fields };
  const answer = await send('POST', TESTS, { body: { policy_test } });
  return answer.body.data.id;
}

/** The entries of the audit trail that say that tests fail, the oldest first. */
async function failures({ database }: TestServer): Promise<object[]> {
  const entries = await readAuditEntries(database, { limit: 1_000 });
  return entries
    .filter(({ action }) => action === 'fail')
    .map(({ kind, record_id, changes, actor }) => ({ kind, record_id, changes, actor }));
}

for (const kind of surfaces()) {
  test(`${kind}: a rule that breaks a passing test is not made, unless it is forced`, async (t) => {
    const opened = await openServer(t, kind);
    const { send, adminId } = opened;
    const id = await expectWiki(opened, 'accept');
    const rule = { action: 'drop', destination: '10.0.0.0/8', user_id: adminId };
    const held = await send('POST', RULES, { body: { rule } });
    t.is(held.status, 422);
    t.deepEqual(held.body, {
      errors: {
        base: [
          'policy test "wiki" would fail: it expects accept, but this rule would drop the packet',
        ],
      },
    });
    for (const force of ['false', '1', 'TRUE', ''])
      t.is((await send('POST', `${RULES}?force=${force}`, { body: { rule } })).status, 422, force);
    t.deepEqual((await send('GET', RULES)).body.data, []);
    t.deepEqual(await failures(opened), []);
    const made = await send('POST', `${RULES}?force=true`, { body: { rule } });
    t.is(made.status, 201, made.text);
    const { id: rule_id } = made.body.data;
    t.like((await send('GET', `${TESTS}/${id}`)).body.data, { passes: false, rule_id });
    t.deepEqual(await failures(opened), [
      {
        kind: 'policy_test',
        record_id: id,
        changes: { rule_id: { to: rule_id }, forced: { to: true } },
        actor: 'user',
      },
    ]);
    // It fails already, so it holds up nothing more.
    const again = { action: 'drop', destination: '10.0.0.5', port_type: 'tcp', port_range: 443 };
    t.is((await send('POST', RULES, { body: { rule: again } })).status, 201);
    t.is((await failures(opened)).length, 1);
  });

  test(`${kind}: a change of a rule that breaks a passing test is refused`, async (t) => {
    const opened = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const { send, adminId } = opened;
    const everyones = { action: 'accept', destination: '10.0.0.0/8' };
    const made = await send('POST', RULES, { body: { rule: everyones } });
    const { id } = made.body.data;
    await expectWiki(opened, 'accept');
    const other = { email: 'bob@example.com' };
    const { id: user_id } = (await send('POST', '/v0/users', { body: { user: other } })).body.data;
    const change = (rule: object, query = '') =>
      send('PATCH', `${RULES}/${id}${query}`, { body: { rule } });
    for (const [rule, by] of [
      [{ destination: '10.1.0.0/16' }, 'no rule would match, and the default action is drop'],
      [{ user_id }, 'no rule would match, and the default action is drop'],
      [{ action: 'drop' }, 'this rule would drop the packet'],
      [
        { port_type: 'udp', port_range: '443' },
        'no rule would match, and the default action is drop',
      ],
    ] as const) {
      const held = await change(rule);
      t.is(held.status, 422);
      t.deepEqual(held.body.errors.base, [
        `policy test "wiki" would fail: it expects accept, but ${by}`,
      ]);
    }
    t.is((await change({ user_id: adminId })).status, 200);
    t.is((await change({ port_type: 'tcp', port_range: '443' })).status, 200);
    t.is((await change({ destination: '10.0.0.4/31' })).status, 200);
    t.deepEqual((await change({ action: 'drop' }, '?force=true')).status, 200);
    t.is((await failures(opened)).length, 1);
  });

  test(`${kind}: an end to come holds nothing up, and the trail says when a test fails`, async (t) => {
    const opened = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const { send } = opened;
    const made = { action: 'accept', destination: '10.0.0.0/8' };
    const { id } = (await send('POST', RULES, { body: { rule: made } })).body.data;
    await expectWiki(opened, 'accept');
    const ends_at = '2999-01-01T08:00:00.000Z';
    const { status } = await send('PATCH', `${RULES}/${id}`, { body: { rule: { ends_at } } });
    t.is(status, 200);
    const changes = { rule_id: { to: id }, at: { to: ends_at }, forced: { to: false } };
    t.like(await failures(opened), [{ changes }]);
  });

  test(`${kind}: a start to come does not hide that the rule breaks a test then`, async (t) => {
    const opened = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const { send } = opened;
    const made = { action: 'accept', destination: '10.0.0.0/8' };
    const { id } = (await send('POST', RULES, { body: { rule: made } })).body.data;
    await expectWiki(opened, 'accept');
    const starts_at = '2999-01-01T08:00:00.000Z';
    const rule = { action: 'drop', starts_at };
    const held = await send('PATCH', `${RULES}/${id}`, { body: { rule } });
    t.is(held.status, 422);
    t.regex(String(held.body.errors.base), new RegExp(`would fail from ${starts_at} on`));
    const later = await send('PATCH', `${RULES}/${id}`, { body: { rule: { starts_at } } });
    t.is(later.status, 200, 'until then it only decides no more, as a rule that ends');
  });

  test(`${kind}: another rule that would decide is named`, async (t) => {
    const opened = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const { send } = opened;
    const make = async (rule: object) => (await send('POST', RULES, { body: { rule } })).body.data;
    const { id } = await make({ action: 'accept', destination: '10.0.0.5' });
    const { id: drops } = await make({ action: 'drop', destination: '10.0.0.0/8' });
    await expectWiki(opened, 'accept');
    const rule = { destination: '10.0.0.6' };
    const held = await send('PUT', `${RULES}/${id}`, { body: { rule } });
    t.deepEqual(held.body.errors.base, [
      `policy test "wiki" would fail: it expects accept, but rule ${drops} would drop the packet`,
    ]);
  });

  test(`${kind}: a rule is switched off as it is removed, and on as it is made`, async (t) => {
    const opened = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const { send } = opened;
    const make = async (rule: object) => (await send('POST', RULES, { body: { rule } })).body.data;
    const { id } = await make({ action: 'accept', destination: '10.0.0.0/8' });
    const drops = await make({ action: 'drop', destination: '10.0.0.0/8', enabled: false });
    await expectWiki(opened, 'accept');
    const change = (rule: object, ruleId: string) =>
      send('PATCH', `${RULES}/${ruleId}`, { body: { rule } });
    t.is((await change({ enabled: true }, drops.id)).status, 200, 'accept comes first');
    t.is((await change({ enabled: false }, id)).status, 200);
    const [failure] = await failures(opened);
    t.like(failure, { changes: { rule_id: { to: id }, forced: { to: false } } });
    t.is((await change({ enabled: true }, id)).status, 200);
    t.is((await change({ enabled: false }, drops.id)).status, 200);
    const narrow = { action: 'drop', destination: '10.0.0.5', port_type: 'tcp', port_range: 443 };
    t.is((await make({ ...narrow, enabled: false })).enabled, false, 'nothing is held up');
    const staged = await make({ ...narrow, enforced: false });
    t.is(staged.enforced, false, 'what decides nothing is not held up');
    t.is((await change({ enforced: true }, staged.id)).status, 422);
    t.is((await change({ enforced: false }, id)).status, 200);
    t.is((await change({ enforced: true }, id)).status, 200);
    const accepts = { port_type: 'udp', port_range: 443 };
    t.is((await change(accepts, id)).status, 422);
    t.is((await change({ ...accepts, enabled: false }, id)).status, 200);
  });

  test(`${kind}: a rule that starts later is judged as of its start, and an end as a removal`, async (t) => {
    const opened = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const { send } = opened;
    const make = (rule: object) => send('POST', RULES, { body: { rule } });
    const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();
    const wiki = { destination: '10.0.0.5', port_type: 'tcp', port_range: 443 };
    const allowed = await make({ action: 'accept', destination: '10.0.0.0/8' });
    await expectWiki(opened, 'accept');
    const later = { ...wiki, action: 'drop', starts_at: hours(1) };
    const held = await make(later);
    t.is(held.status, 422);
    t.is(
      held.body.errors.base[0],
      `policy test "wiki" would fail from ${later.starts_at} on: it expects accept, but this rule would drop the packet`,
    );
    t.is((await make({ ...later, ends_at: hours(-1), starts_at: null })).status, 201, 'over');
    t.deepEqual(await failures(opened), []);
    const { id } = allowed.body.data;
    const change = (rule: object) => send('PATCH', `${RULES}/${id}`, { body: { rule } });
    t.is((await change({ ends_at: hours(2) })).status, 200, 'a test may fail when it is over');
    t.is(
      (await make({ ...later, starts_at: hours(3), ends_at: hours(4) })).status,
      201,
      'it fails by then',
    );
    t.is((await change({ ends_at: hours(-1) })).status, 200);
    t.like((await failures(opened))[0], {
      changes: { rule_id: { to: id }, forced: { to: false } },
    });
    t.is((await change({ ends_at: null, starts_at: hours(1) })).status, 200, 'it comes back');
    t.is((await change({ starts_at: null })).status, 200);
    t.is(
      (
        await send('POST', `${RULES}?force=true`, {
          body: { rule: { ...later, ends_at: hours(2) } },
        })
      ).status,
      201,
    );
    t.like((await failures(opened)).at(-1), { changes: { forced: { to: true } } });
  });

  test(`${kind}: a removal is never held up, and the audit trail says what fails`, async (t) => {
    const opened = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const { send } = opened;
    const rule = { action: 'accept', destination: '10.0.0.0/8' };
    const { id: rule_id } = (await send('POST', RULES, { body: { rule } })).body.data;
    const id = await expectWiki(opened, 'accept');
    t.is((await send('DELETE', `${RULES}/${rule_id}`)).status, 204);
    t.like((await send('GET', `${TESTS}/${id}`)).body.data, { passes: false });
    t.deepEqual(await failures(opened), [
      {
        kind: 'policy_test',
        record_id: id,
        changes: { rule_id: { to: rule_id }, forced: { to: false } },
        actor: 'user',
      },
    ]);
    // A test that fails, and one that nothing fulfils, can be changed and removed.
    const policy_test = { expect: 'drop' };
    t.is((await send('PATCH', `${TESTS}/${id}`, { body: { policy_test } })).status, 200);
    t.is((await send('DELETE', `${TESTS}/${id}`)).status, 204);
  });

  test(`${kind}: rules that are sent at once are judged one after the other`, async (t) => {
    const opened = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const { send } = opened;
    await expectWiki(opened, 'drop');
    await expectWiki(opened, 'accept', { destination: '10.9.0.5', name: 'other' });
    const rules = [
      { action: 'accept', destination: '10.9.0.0/16' },
      { action: 'accept', destination: '10.0.0.0/16' },
      { action: 'accept', destination: '10.0.0.0/15' },
      { action: 'accept', destination: '10.2.0.0/16' },
    ];
    const answers = await Promise.all(rules.map((rule) => send('POST', RULES, { body: { rule } })));
    t.deepEqual(
      answers.map(({ status }) => status),
      [201, 422, 422, 201],
    );
    for (const { body } of answers.slice(1, 3))
      t.deepEqual(body.errors.base, [
        'policy test "wiki" would fail: it expects drop, but this rule would accept the packet',
      ]);
    const forced = await Promise.all(
      [
        rules[1],
        { action: 'drop', destination: '10.9.0.0/24', port_type: 'tcp', port_range: 443 },
      ].map((rule) => send('POST', `${RULES}?force=true`, { body: { rule } })),
    );
    const made = forced.map(({ body }) => body.data.id as string);
    const kept = (await failures(opened)) as { changes: { rule_id: { to: string } } }[];
    t.deepEqual(kept.map(({ changes }) => changes.rule_id.to).toSorted(), made.toSorted());
  });
}

for (const kind of databaseKinds())
  test(`${kind}: a rule for everything is judged beside as many tests as there may be`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const users = Array.from({ length: 250 }, (_, i) => `user-${i}@example.com`);
    await writeTransaction(database, async (transaction) => {
      const rows = users.map((email) => ({ email, role: 'unprivileged' as const }));
      const made = await database.models.User.bulkCreate(rows, { transaction });
      const tests = Array.from({ length: POLICY_TESTS_MAX }, (_, i) => ({
        name: `test ${i}`,
        user_id: made[i % made.length]?.id ?? null,
        destination: `2001:db8:${(i * 61).toString(16)}:${(i * 7).toString(16)}::${i.toString(16)}`,
        protocol: 'icmp' as const,
        expect: 'accept' as const,
      }));
      await database.models.PolicyTest.bulkCreate(tests, { transaction });
    });
    const rule = { action: 'drop', destination: '::/0' };
    const held = await send('POST', RULES, { body: { rule } });
    t.is(held.status, 422, held.text);
    t.is(held.body.errors.base.length, 21);
    t.is(held.body.errors.base[20], '980 more policy test(s) would fail');
    t.is((await send('POST', `${RULES}?force=true`, { body: { rule } })).status, 201);
    const entries = await readAuditEntries(database, { limit: 10_000, action: 'fail' });
    t.is(entries.length, POLICY_TESTS_MAX);
    const shown = (await send('GET', TESTS)).body.data as { passes: boolean }[];
    t.true(shown.length === POLICY_TESTS_MAX && shown.every(({ passes }) => !passes));
  });

test('an answer names twenty tests at most, whatever their names are', async (t) => {
  const opened = await openServer(t, 'sqlite');
  const { send } = opened;
  const name = '"<script>\r\n{{x}}%s\u202e';
  for (let i = 0; i < 25; i += 1) await expectWiki(opened, 'accept', { name: `${i}${name}` });
  const rule = { action: 'drop', destination: '0.0.0.0/0' };
  const held = await send('POST', RULES, { body: { rule } });
  t.is(held.status, 422);
  t.is(held.body.errors.base.length, 21);
  t.is(held.body.errors.base[20], '5 more policy test(s) would fail');
  t.true(held.body.errors.base[0].startsWith(`policy test "0${name}" would fail:`));
  t.false(held.text.includes('\r'), 'JSON escapes what a terminal or a log would obey');
});

test('with errors of its own, a rule is refused for these alone', async (t) => {
  const opened = await openServer(t, 'sqlite');
  await expectWiki(opened, 'accept');
  const rule = { action: 'drop', destination: '10.0.0.0/8', port_type: 'tcp' };
  const refused = await opened.send('POST', `${RULES}?force=true`, { body: { rule } });
  t.deepEqual(refused.body, { errors: { port_range: ["can't be blank"] } });
});
