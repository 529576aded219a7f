// A dry run says what a write then does: which flows end, which refused packets pass, which rules
// never decide any more, which policy tests fail. Nothing is written meanwhile. A gateway in memory
// carries the packets.

import test, { type ExecutionContext } from 'ava';
import { createGateway, type TestGateway } from '../../../../lib/testing/index.ts';
import { checkAnswer } from '../../../support/api/openapi.ts';
import { untilHolds } from '../../../support/api/running-capture.ts';

interface Tried {
  readonly record: Record<string, unknown> | null;
  readonly ended_flow_count: number;
  readonly ended_flow_user_count: number;
  readonly ended_flows: readonly { destination: string; source_device_id: string | null }[];
  readonly passed_refusal_count: number;
  readonly passed_refusals: readonly { destination: string; device_id: string | null }[];
  readonly shadowed_rule_count: number;
  readonly shadowed_rules: readonly { id: string }[];
  readonly failing_policy_test_count: number;
  readonly failing_policy_tests: readonly { id: string; name: string }[];
  readonly other_gateways: readonly { id: string }[];
}

/** Tries an operation over the API; the answer must be as the OpenAPI document says. */
async function tryOut(
  t: ExecutionContext,
  gateway: TestGateway,
  dry_run: object,
  query = '',
): Promise<Tried> {
  const answer = await gateway.inject('POST', `/v0/dry_run${query}`, { body: { dry_run } });
  t.is(answer.status, 200, answer.text);
  t.is(checkAnswer('POST', '/v0/dry_run', answer), null);
  return answer.body.data as Tried;
}

/** What the API shows of the database; devices would also show what they carried meanwhile. */
async function rowsOf(gateway: TestGateway): Promise<unknown> {
  const paths = ['rules', 'users', 'policy_tests'];
  return Promise.all(paths.map(async (name) => gateway.api.get(`/v0/${name}`)));
}

const NOTHING = {
  ended_flow_count: 0,
  ended_flow_user_count: 0,
  ended_flows: [],
  passed_refusal_count: 0,
  passed_refusals: [],
  shadowed_rule_count: 0,
  shadowed_rules: [],
  failing_policy_test_count: 0,
  failing_policy_tests: [],
  other_gateways: [],
};

const ruleTo = (action: string, destination: string, more: object = {}) => ({
  method: 'POST',
  path: '/v0/rules',
  body: { rule: { action, destination, ...more } },
});

/** The destinations of the flows that are alive. */
async function alive(gateway: TestGateway): Promise<string[]> {
  const flows = (await gateway.api.get('/v0/flows')) as unknown as { destination: string }[];
  return flows.map(({ destination }) => destination).toSorted();
}

async function scene() {
  const gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const phone = await gateway.addDevice({ user: 'bob@example.com' });
  const same = (data: Buffer) => data;
  const echo = { udp: same, tcp: same };
  gateway.host('10.0.0.5', echo);
  gateway.host('10.0.0.6', echo);
  await laptop.udp('10.0.0.5', 53, 'x');
  await laptop.udp('10.0.0.6', 53, 'x');
  await phone.udp('10.0.0.5', 53, 'x');
  return { gateway, laptop, phone };
}

test('a rule that is tried ends what it then ends, and is not written', async (t) => {
  const { gateway, laptop } = await scene();
  await using _ = gateway;
  const before = await rowsOf(gateway);
  const all = await tryOut(t, gateway, ruleTo('drop', '10.0.0.5'));
  const { record, ended_flows: flows, ...counts } = all;
  t.like(record, { action: 'drop', destination: '10.0.0.5' });
  t.like(counts, { ended_flow_count: 2, ended_flow_user_count: 2, shadowed_rule_count: 0 });
  t.deepEqual(
    flows.map(({ destination }) => destination),
    ['10.0.0.5', '10.0.0.5'],
  );
  const mine = { user_id: laptop.userId };
  const one = await tryOut(t, gateway, ruleTo('drop', '10.0.0.0/8', mine));
  t.like(one, { ended_flow_count: 2, ended_flow_user_count: 1 });
  t.true(one.ended_flows.every(({ source_device_id: id }) => id === laptop.id));
  t.deepEqual(await rowsOf(gateway), before);
  t.deepEqual(await alive(gateway), ['10.0.0.5', '10.0.0.5', '10.0.0.6']);
  const { rule } = ruleTo('drop', '10.0.0.5').body;
  const { id } = await gateway.api.post('/v0/rules', { rule });
  t.deepEqual(await alive(gateway), ['10.0.0.6']);
  const path = `/v0/rules/${String(id)}`;
  const moved = await tryOut(t, gateway, {
    method: 'PATCH',
    path,
    body: { rule: { destination: '10.0.0.6' } },
  });
  t.like(moved, { record: { id, destination: '10.0.0.6' }, ended_flow_count: 1 });
  const removed = await tryOut(t, gateway, { method: 'DELETE', path });
  t.like(removed, { record: null, ended_flow_count: 0 });
});

test('a quota that is used up ends what its user has open', async (t) => {
  const { gateway, laptop } = await scene();
  await using _ = gateway;
  const path = `/v0/users/${String(laptop.userId)}`;
  const quota = (bytes: number | null) => ({ user: { quota: bytes } });
  const tried = (bytes: number | null) =>
    tryOut(t, gateway, { method: 'PATCH', path, body: quota(bytes) });
  // What users carry who have a quota is written soon.
  await gateway.api.patch(path, quota(1e12));
  const connection = await laptop.connect('10.0.0.6', 80);
  for (let bytes = 0; bytes < 1e6; bytes += 2e4) await connection.exchange('x'.repeat(1e4));
  await untilHolds(async () => Number((await gateway.api.get(path))['quota_used']) > 1e6);
  t.like(await tried(1e6), { ended_flow_count: 3, ended_flow_user_count: 1 });
  t.like(await tried(1e9), { ended_flow_count: 0 });
  await gateway.api.patch(path, quota(1e6));
  await untilHolds(async () => (await alive(gateway)).length === 1);
  t.deepEqual(await alive(gateway), ['10.0.0.5'], 'that of the other user');
  t.like(await tried(null), { ended_flow_count: 0 });
  t.is((await laptop.diagnose()).code, 'quota_exceeded');
  await gateway.api.patch(path, quota(null));
  await untilHolds(async () => (await alive(gateway)).length === 4);
});

test('a group and its members are tried as they are then changed', async (t) => {
  const { gateway, laptop, phone } = await scene();
  await using _ = gateway;
  const { id } = await gateway.api.post('/v0/groups', { group: { name: 'staff' } });
  const group = `/v0/groups/${String(id)}`;
  const members = (change: object) => ({
    method: 'POST',
    path: `${group}/members`,
    body: { members: change },
  });
  const drops = { action: 'drop', destination: '10.0.0.5', group_id: id };
  await gateway.api.post('/v0/rules', { rule: drops });
  const joins = { add: [laptop.userId, phone.userId] };
  t.like(await tryOut(t, gateway, members(joins)), {
    record: { added: 2, removed: 0 },
    ended_flow_count: 2,
    ended_flow_user_count: 2,
  });
  t.is((await alive(gateway)).length, 3);
  const packet = { destination: '10.0.0.5', protocol: 'tcp', port: 443 };
  const wiki = { name: 'wiki', user_id: laptop.userId, ...packet, expect: 'accept' };
  const { id: testId } = await gateway.api.post('/v0/policy_tests', { policy_test: wiki });
  const tried = { body: { dry_run: members(joins) } };
  t.is((await gateway.inject('POST', '/v0/dry_run', tried)).status, 422, 'a test holds it up');
  t.like(await tryOut(t, gateway, members(joins), '?force=true'), {
    failing_policy_tests: [{ id: testId, name: 'wiki' }],
  });
  await gateway.api.delete(`/v0/policy_tests/${String(testId)}`);
  const accepts = { action: 'accept', destination: '10.0.0.6', group_id: id };
  await gateway.api.post('/v0/rules', { rule: accepts });
  await gateway.api.post('/v0/rules', { rule: { action: 'drop', destination: '10.0.0.0/8' } });
  await gateway.api.post(`${group}/members`, { members: { add: [laptop.userId] } });
  t.deepEqual(await alive(gateway), ['10.0.0.6']);
  t.like(await tryOut(t, gateway, members({ remove: [laptop.userId] })), { ended_flow_count: 1 });
  const removed = await tryOut(t, gateway, { method: 'DELETE', path: group });
  t.like(removed, { record: null, ended_flow_count: 1, ended_flow_user_count: 1 });
  const body = { group: { name: 'crew' } };
  const renamed = await tryOut(t, gateway, { method: 'PATCH', path: group, body });
  t.like(renamed, { record: { id, name: 'crew' }, ended_flow_count: 0 });
  t.deepEqual(await alive(gateway), ['10.0.0.6'], 'nothing was written');
  t.is((await gateway.api.get(group))['name'], 'staff');
  await gateway.api.delete(group);
  t.deepEqual(await alive(gateway), []);
});

test('to switch a rule off is tried as a removal, to switch it on as a new rule', async (t) => {
  const { gateway, laptop } = await scene();
  await using _ = gateway;
  const make = async (action: string, destination: string, more: object = {}) => {
    const { rule } = ruleTo(action, destination, more).body;
    return `/v0/rules/${String((await gateway.api.post('/v0/rules', { rule })).id)}`;
  };
  const accepts = await make('accept', '10.0.0.5', { port_type: 'udp', port_range: 53 });
  const drops = await make('drop', '10.0.0.5');
  const turn = (path: string, enabled: boolean) => ({
    method: 'PATCH',
    path,
    body: { rule: { enabled } },
  });
  await laptop.udp('10.0.0.5', 53, 'x');
  t.like(await tryOut(t, gateway, turn(accepts, false)), {
    record: { enabled: false },
    ended_flow_count: 3,
  });
  const staging = { method: 'PATCH', path: accepts, body: { rule: { enforced: false } } };
  t.like(await tryOut(t, gateway, staging), { ended_flow_count: 3 });
  const stagedDrop = await make('drop', '10.0.0.6', { enforced: false });
  const enforcing = { ...staging, path: stagedDrop, body: { rule: { enforced: true } } };
  t.like(await tryOut(t, gateway, { ...enforcing, body: { rule: {} } }), { ended_flow_count: 0 });
  t.true((await tryOut(t, gateway, enforcing)).ended_flow_count > 0);
  await gateway.api.delete(stagedDrop);
  const { rule } = ruleTo('accept', '10.0.0.0/24', { enabled: false }).body;
  const off = `/v0/rules/${String((await gateway.api.post('/v0/rules', { rule })).id)}`;
  const on = await tryOut(t, gateway, turn(off, true));
  t.deepEqual(
    on.shadowed_rules.map(({ id }) => `/v0/rules/${String(id)}`),
    [drops],
  );
  await gateway.api.patch(accepts, { rule: { enabled: false } });
  t.deepEqual(await alive(gateway), ['10.0.0.6']);
  t.is((await tryOut(t, gateway, turn(off, true))).shadowed_rule_count, 1);
  await gateway.api.patch(drops, { rule: { enabled: false } });
  t.is((await tryOut(t, gateway, turn(off, true))).shadowed_rule_count, 0);
});

test('what a device or a user carries ends when it is removed', async (t) => {
  const { gateway, laptop, phone } = await scene();
  await using _ = gateway;
  const device = { method: 'DELETE', path: `/v0/devices/${phone.id}` };
  t.like(await tryOut(t, gateway, device), { record: null, ended_flow_count: 1 });
  const user = { method: 'DELETE', path: `/v0/users/${laptop.userId}` };
  t.like(await tryOut(t, gateway, user), { record: null, ended_flow_count: 2 });
  const moved = { ...device, method: 'PATCH', body: { device: { ipv4: '100.64.0.99' } } };
  t.like(await tryOut(t, gateway, moved), { record: { id: phone.id }, ended_flow_count: 1 });
  const { key: public_key } = await freshKey(gateway);
  const rekeyed = { ...moved, body: { device: { public_key } } };
  t.like(await tryOut(t, gateway, rekeyed), { ended_flow_count: 1 });
  for (const switched of [{ enabled: false }, { ends_at: '2020-01-01T00:00:00Z' }])
    t.like(await tryOut(t, gateway, { ...moved, body: { device: switched } }), {
      ended_flow_count: 1,
    });
  const disabled = { ...user, method: 'PATCH', body: { user: { enabled: false } } };
  t.like(await tryOut(t, gateway, disabled), { record: { enabled: false }, ended_flow_count: 2 });
  const renamed = { ...moved, body: { device: { name: 'other' } } };
  t.like(await tryOut(t, gateway, renamed), { record: { name: 'other' }, ...NOTHING });
  const email = { ...user, method: 'PATCH', body: { user: { email: 'carol@example.com' } } };
  t.like(await tryOut(t, gateway, email), { record: { email: 'carol@example.com' }, ...NOTHING });
  const made = { method: 'POST', path: '/v0/users', body: { user: { email: 'd@example.com' } } };
  t.like(await tryOut(t, gateway, made), { record: { email: 'd@example.com' }, ...NOTHING });
  t.is((await alive(gateway)).length, 3);
  await gateway.api.delete(`/v0/users/${laptop.userId}`);
  t.deepEqual(await alive(gateway), ['10.0.0.5']);
});

/** A key that a device has which was made and removed. */
async function freshKey(gateway: TestGateway): Promise<{ key: string }> {
  const device = await gateway.addDevice({ user: 'eve@example.com' });
  const shown = (await gateway.api.get(`/v0/devices/${device.id}`)) as { public_key: string };
  await gateway.api.delete(`/v0/devices/${device.id}`);
  return { key: shown.public_key };
}

test('packets that were refused and would pass are listed', async (t) => {
  const { gateway, laptop, phone } = await scene();
  await using _ = gateway;
  const drop = { action: 'drop', destination: '10.0.0.6' };
  const { id } = await gateway.api.post('/v0/rules', { rule: drop });
  for (const device of [laptop, phone])
    await t.throwsAsync(device.udp('10.0.0.6', 53, 'x'), { message: /rule_drop/ });
  const path = `/v0/rules/${String(id)}`;
  const removed = await tryOut(t, gateway, { method: 'DELETE', path });
  t.is(removed.passed_refusal_count, 2);
  t.deepEqual(
    removed.passed_refusals.map(({ device_id: device }) => String(device)).toSorted(),
    [laptop.id, phone.id].toSorted(),
  );
  const mine = { user_id: laptop.userId };
  const accepted = await tryOut(t, gateway, ruleTo('accept', '10.0.0.6', mine));
  t.deepEqual(
    accepted.passed_refusals.map(({ device_id: device, destination }) => [device, destination]),
    [[laptop.id, '10.0.0.6']],
  );
});

test('rules that would never decide are named, and tests that would fail', async (t) => {
  const { gateway, laptop } = await scene();
  await using _ = gateway;
  const drop = { action: 'drop', destination: '10.0.0.6', user_id: laptop.userId };
  const { id } = await gateway.api.post('/v0/rules', { rule: drop });
  const mine = { user_id: laptop.userId };
  const shadowing = await tryOut(t, gateway, ruleTo('accept', '10.0.0.0/24', mine));
  t.is(shadowing.shadowed_rule_count, 1);
  t.is(shadowing.shadowed_rules[0]?.id, String(id));
  t.is((await tryOut(t, gateway, ruleTo('accept', '10.0.0.0/24'))).shadowed_rule_count, 0);
  const { id: testId } = await gateway.api.post('/v0/policy_tests', {
    policy_test: {
      name: 'no way to 10.0.0.6',
      ...mine,
      destination: '10.0.0.6',
      protocol: 'tcp',
      port: 22,
      expect: 'drop',
    },
  });
  const operation = ruleTo('accept', '10.0.0.0/24', mine);
  const refused = await gateway.inject('POST', '/v0/dry_run', { body: { dry_run: operation } });
  t.is(refused.status, 422);
  t.regex(refused.text, /policy test .*no way to 10\.0\.0\.6.* would fail/);
  const failing = [{ id: String(testId), name: 'no way to 10.0.0.6' }];
  const forced = await tryOut(t, gateway, operation, '?force=true');
  t.deepEqual(forced.failing_policy_tests, failing);
  const removal = { method: 'DELETE', path: `/v0/rules/${String(id)}` };
  t.deepEqual((await tryOut(t, gateway, removal)).failing_policy_tests, failing);
  const made = await gateway.api.post('/v0/rules?force=true', { rule: operation.body.rule });
  // What is shadowed already does not become so.
  const wider = await tryOut(t, gateway, {
    method: 'PATCH',
    path: `/v0/rules/${String(made['id'])}`,
    body: { rule: { destination: '10.0.0.0/16' } },
  });
  t.is(wider.shadowed_rule_count, 0);
});
