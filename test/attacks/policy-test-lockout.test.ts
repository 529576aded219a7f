// Somebody with an administrator's rights leaves as many policy tests as there may be, so that every
// rule makes hundreds of them fail. Administrators are not locked out: what takes access away is never
// held up, insisting works and is in the audit trail, a test that fails already holds up nothing, and
// no write takes long or keeps the gateway from answering others.

import test, { type ExecutionContext } from 'ava';
import { POLICY_TESTS_MAX } from '../../lib/domain/policy-tests/policy-tests.ts';
import type { Answer } from '../support/api/requests.ts';
import { type GatewayProcess, startGateway } from '../support/gateway/gateway-process.ts';

/** Writes that are made at once. */
const CROWD = 20;
/** A write takes some tens of milliseconds; machines of tests are slow and shared. */
const WRITE_MS_MAX = 4_000;
/** The longest that another request may wait meanwhile. */
const WAIT_MS_MAX = 1_500;
const ALICE = 'alice@example.com';
const EVERYTHING = '10.0.0.0/8';

interface Scene {
  readonly gateway: GatewayProcess;
  readonly userId: string;
  readonly deviceId: string;
}

/** A gateway with as many tests as there may be; each expects that Alice's packet passes. */
async function open(t: ExecutionContext): Promise<Scene> {
  t.timeout(180_000);
  const gateway = await startGateway(t, { API_RATE_LIMIT: '0', LOG_LEVEL: 'info' });
  const { call } = gateway;
  const { data: user } = (await call('POST', '/v0/users', { user: { email: ALICE } })).body;
  const public_key = Buffer.alloc(32, 7).toString('base64');
  const device = { user_id: user.id, public_key };
  const { data: made } = (await call('POST', '/v0/devices', { device })).body;
  for (let i = 0; i < POLICY_TESTS_MAX; i += CROWD)
    await Promise.all(
      Array.from({ length: CROWD }, async (_, at) => {
        const policy_test = {
          name: `test ${i + at}`,
          user_id: user.id,
          destination: `10.${(i + at) >> 8}.${(i + at) & 255}.1`,
          protocol: 'tcp',
          port: 443,
          expect: 'accept',
        };
        t.is((await call('POST', '/v0/policy_tests', { policy_test })).status, 201);
      }),
    );
  const one = { name: 'one more', user_id: user.id, destination: '10.9.9.9', protocol: 'icmp' };
  const policy_test = { ...one, expect: 'accept' };
  t.is((await call('POST', '/v0/policy_tests', { policy_test })).status, 422);
  return { gateway, userId: user.id, deviceId: made.id };
}

/** Writes, while somebody else asks again and again; none of both may take long. */
async function inTime(
  t: ExecutionContext,
  { gateway }: Scene,
  what: string,
  write: () => Promise<Answer>,
): Promise<Answer> {
  let [isOver, longestMs] = [false, 0];
  const asking = (async () => {
    while (!isOver) {
      const begun = performance.now();
      await fetch(`${gateway.url}/healthz`);
      longestMs = Math.max(longestMs, performance.now() - begun);
    }
  })();
  const begun = performance.now();
  const answer = await write();
  const tookMs = performance.now() - begun;
  isOver = true;
  await asking;
  t.log(`${what}: ${answer.status}, ${Math.round(tookMs)} ms, others ${Math.round(longestMs)} ms`);
  t.true(tookMs < WRITE_MS_MAX, `${what} took ${tookMs} ms`);
  t.true(longestMs < WAIT_MS_MAX, `others waited ${longestMs} ms for ${what}`);
  return answer;
}

/** How many tests fail. */
async function failing({ gateway }: Scene): Promise<number> {
  const { data } = (await gateway.call('GET', '/v0/policy_tests')).body;
  return data.filter((one: { passes: boolean }) => !one.passes).length;
}

interface Entry {
  readonly action: string;
  readonly changes: { readonly forced: { readonly to: boolean } };
}

/** What the audit trail says of tests that began to fail. */
async function recorded({ gateway }: Scene): Promise<Entry[]> {
  const entries = await gateway.command('audit', 'list', '--limit', '10000', '--json');
  return (JSON.parse(entries) as Entry[]).filter(({ action }) => action === 'fail');
}

test('as many tests as there may be lock no administrator out', async (t) => {
  const scene = await open(t);
  const { call, command } = scene.gateway;
  const rule = { action: 'drop', destination: EVERYTHING };
  const create = (query = '', fields = {}): Promise<Answer> =>
    call('POST', `/v0/rules${query}`, { rule: { ...rule, ...fields } });

  const held = await inTime(t, scene, 'a rule that all tests hold up', () => create());
  t.is(held.status, 422);
  t.is(held.body.errors.base.length, 21, 'the answer stays short');
  t.is(await failing(scene), 0);

  // Whoever insists writes, and the audit trail says so.
  const made = await inTime(t, scene, 'the same, insisted on', () => create('?force=true'));
  t.is(made.status, 201);
  t.is(await failing(scene), POLICY_TESTS_MAX);
  const entries = await recorded(scene);
  t.is(entries.length, POLICY_TESTS_MAX);
  t.true(entries.every(({ changes }) => changes.forced.to));

  // What fails already holds up nothing.
  const path = `/v0/rules/${made.body.data.id}`;
  const narrower = { rule: { destination: '10.0.0.0/9' } };
  const changed = await inTime(t, scene, 'a change', () => call('PATCH', path, narrower));
  t.is(changed.status, 200);
  const further = { port_type: 'tcp', port_range: '443' };
  t.is((await inTime(t, scene, 'another rule', () => create('', further))).status, 201);

  // Removals make tests pass or fail, and are never held up.
  for (const { id } of (await call('GET', '/v0/rules')).body.data)
    t.is(
      (await inTime(t, scene, 'a removal', () => call('DELETE', `/v0/rules/${id}`))).status,
      204,
    );
  t.is(await failing(scene), 0);
  for (const [action, count] of [
    ['drop', POLICY_TESTS_MAX],
    ['accept', 0],
  ] as const) {
    const configuration = { default_action: action };
    const write = (): Promise<Answer> => call('PATCH', '/v0/configuration', { configuration });
    t.is((await inTime(t, scene, `default ${action}`, write)).status, 200);
    t.is(await failing(scene), count);
  }
  t.is(
    (await recorded(scene)).filter(({ changes }) => !changes.forced.to).length,
    POLICY_TESTS_MAX,
  );

  await command('device', 'disable', '--id', scene.deviceId);
  await command('user', 'disable', '--email', ALICE);
  const explain = { device_id: scene.deviceId, destination: '10.0.0.1', protocol: 'icmp' };
  t.is((await call('POST', '/v0/explain', { explain })).body.data.reason, 'device_off');
  const device = await inTime(t, scene, 'a device', () =>
    call('DELETE', `/v0/devices/${scene.deviceId}`),
  );
  t.is(device.status, 204);
  const user = await inTime(t, scene, 'the user', () =>
    call('DELETE', `/v0/users/${scene.userId}`),
  );
  t.is(user.status, 204);
  t.deepEqual((await call('GET', '/v0/policy_tests')).body.data, []);
});
