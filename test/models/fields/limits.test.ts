// Limits of devices, of users and of the configuration, and quotas: what may be sent, who says the
// limit of a device, and that a change is in force when it is answered. docs/api.md#limits.

import test from 'ava';
import { createGateway, NoAnswerError, type TestDevice } from '../../../lib/testing/index.ts';
import { databaseKinds } from '../../support/database/databases.ts';
import { openServer } from '../../support/api/server.ts';

const MOST = 100_000_000_000;
/** It lets 4,000 bytes pass at once. */
const LEAST = 64_000;
/** Bytes of a quota. */
const QUOTA_MOST = 1_000_000_000_000_000;
const QUOTA_LEAST = 1_000_000;

for (const kind of databaseKinds())
  test(`${kind}: each has its limits and quotas, from the least to the greatest`, async (t) => {
    const { send } = await openServer(t, kind);
    const user = await send('POST', '/v0/users', { body: { user: { email: 'a@example.com' } } });
    const { id: user_id } = user.body.data;
    const public_key = Buffer.alloc(32, 9).toString('base64');
    const body = { device: { user_id, public_key, limit_up: MOST } };
    const device = await send('POST', '/v0/devices', { body });
    t.is(device.body.data.limit_down, null);
    t.is(device.body.data.limit_up, MOST);
    for (const [path, wrapper, name, least, most] of [
      ['/v0/configuration', 'configuration', 'default_limit_down', LEAST, MOST],
      ['/v0/configuration', 'configuration', 'default_quota', QUOTA_LEAST, QUOTA_MOST],
      [`/v0/users/${user_id}`, 'user', 'limit_up', LEAST, MOST],
      [`/v0/users/${user_id}`, 'user', 'quota', QUOTA_LEAST, QUOTA_MOST],
      [`/v0/devices/${device.body.data.id}`, 'device', 'limit_down', LEAST, MOST],
    ] as const) {
      const patch = (value: unknown) =>
        send('PATCH', path, { body: { [wrapper]: { [name]: value } } });
      for (const value of [least, most, null]) {
        const answer = await patch(value);
        t.deepEqual([answer.status, answer.body.data[name]], [200, value], `${path} ${value}`);
        t.is((await send('GET', path)).body.data[name], value, `${path} ${value}`);
      }
      for (const [value, error] of [
        [least - 1, `must be greater than or equal to ${least}`],
        [0, `must be greater than or equal to ${least}`],
        [most + 1, `must be less than or equal to ${most}`],
        [1e6 + 0.5, 'is invalid'],
        ['fast', 'is invalid'],
      ] as const) {
        const { status, body: refused } = await patch(value);
        t.deepEqual([status, refused], [422, { errors: { [name]: [error] } }], `${path} ${value}`);
      }
    }
  });

/** Sends what the least limit lets pass in five seconds, at once; whether any was refused. */
async function isLimited(device: TestDevice): Promise<boolean> {
  const sent = Array.from({ length: 40 }, () => device.udp('10.0.0.5', 9, 'x'.repeat(1_000)));
  const ends = await Promise.allSettled(sent);
  return ends.some(
    (end) =>
      end.status === 'rejected' &&
      end.reason instanceof NoAnswerError &&
      end.reason.refusals['rate_limit'] !== undefined,
  );
}

test('the device says it, else its owner, else the configuration, at once', async (t) => {
  await using gateway = await createGateway();
  gateway.host('10.0.0.5');
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const phone = await gateway.addDevice({ user: 'bob@example.com', limit_up: MOST });
  const patch = async (path: string, body: object): Promise<void> => {
    const { status } = await gateway.inject('PATCH', path, { body });
    t.is(status, 200);
  };
  t.deepEqual([await isLimited(laptop), await isLimited(phone)], [false, false]);
  await patch('/v0/configuration', { configuration: { default_limit_up: LEAST } });
  t.deepEqual([await isLimited(laptop), await isLimited(phone)], [true, false]);
  await patch(`/v0/users/${laptop.userId}`, { user: { limit_up: MOST } });
  t.false(await isLimited(laptop));
  await patch(`/v0/devices/${laptop.id}`, { device: { limit_up: LEAST } });
  t.true(await isLimited(laptop));
  await patch(`/v0/devices/${laptop.id}`, { device: { limit_up: null } });
  t.false(await isLimited(laptop));
});

test('what the environment fixes is in force', async (t) => {
  await using gateway = await createGateway({ settings: { DEFAULT_LIMIT_UP: `${LEAST}` } });
  gateway.host('10.0.0.5');
  t.true(await isLimited(await gateway.addDevice({ user: 'alice@example.com' })));
});
