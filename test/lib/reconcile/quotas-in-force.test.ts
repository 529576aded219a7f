// Quotas of whole gateways, with packets: two on one database reach a common one, what was carried
// outlives a stop and the device, and a write that raises the quota is in force when it is answered.

import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { MemoryGateway, MemoryNetwork } from '../../../dataplane/memory/index.ts';
import { serve } from '../../../lib/start/serve.ts';
import { TestGateway } from '../../../lib/testing/gateway.ts';
import { NoAnswerError, type TestDevice } from '../../../lib/testing/index.ts';
import { type LogLine, logInto } from '../../../lib/testing/log.ts';
import { testSettings } from '../../../lib/testing/settings.ts';
import {
  type Database,
  monthOf,
  newId,
  openMemoryDatabase,
  readQuotaUsage,
  recordQuotaUsage,
} from '../../../models/index.ts';
import { until } from '../../support/gateway/postern.ts';

const HOST = '10.0.0.5';
const MB = 1_000_000;
/** What all gateways know of each other after so long; a busy machine gets three times of that. */
const SHARED_MS = 5_000;

/** Starts gateways on one database, in the name of one administrator. */
async function openGateways(t: ExecutionContext, settings: Record<string, string> = {}) {
  const database = await openMemoryDatabase({ encryptionKey: randomBytes(32) });
  const { config, administrator } = testSettings(settings);
  const start = async (id = newId()): Promise<TestGateway> => {
    const log: LogLine[] = [];
    const network = new MemoryNetwork();
    const running = await serve(config, database, logInto(log), {
      createGateway: async (dataplane) => new MemoryGateway(network, dataplane),
      identity: { id, name: id },
      passwordCost: 4,
      listens: false,
      patience: 15,
    });
    const close = () => running.stop();
    const gateway = new TestGateway({ config, administrator, log, network, running, close });
    t.teardown(() => gateway.close());
    gateway.host(HOST);
    return gateway;
  };
  t.teardown(() => database.close());
  return { database, start };
}

/** Sends and gets so many bytes, and a little more. */
async function carry(device: TestDevice, bytes: number): Promise<void> {
  const text = 'x'.repeat(1_200);
  for (let carried = 0; carried < bytes; carried += 2 * (1_200 + 28))
    await device.udp(HOST, 9, text);
}

/** Why a packet does not get through; null: it does. */
async function refusalOf(device: TestDevice, to: string): Promise<string | null> {
  try {
    await device.udp(to, 9, 'hello');
    return null;
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    return Object.keys(error.refusals).join();
  }
}

async function untilOver(device: TestDevice): Promise<void> {
  await until(
    'the end of the quota',
    async () => (await refusalOf(device, HOST)) === 'quota_exceeded',
  );
}

async function usedBy(database: Database, userId: string): Promise<number> {
  return (await readQuotaUsage(database, monthOf(Date.now()), [userId])).get(userId) ?? 0;
}

test('two gateways on one database reach a common quota, and both refuse', async (t) => {
  const { start } = await openGateways(t);
  const [one, two] = [await start(), await start()];
  const { id } = await one.api.post<{ id: string }>('/v0/users', {
    user: { email: 'alice@example.com', quota: MB },
  });
  const laptop = await one.addDevice({ user_id: id });
  const phone = await two.addDevice({ user_id: id });
  const other = await two.addDevice({ user: 'bob@example.com' });
  await carry(laptop, 0.6 * MB);
  t.is(await refusalOf(laptop, HOST), null);
  await carry(phone, 0.6 * MB);
  const began = performance.now();
  await untilOver(laptop);
  await untilOver(phone);
  t.true(performance.now() - began < 3 * SHARED_MS, `${performance.now() - began} ms`);
  t.is(await refusalOf(laptop, one.ipv4), null, 'the gateway itself answers');
  t.is(await refusalOf(other, HOST), null);
  const user = await two.api.get<Record<string, number>>(`/v0/users/${id}`);
  t.true(
    user['quota_used']! >= 1.2 * MB && user['quota_used']! < 1.4 * MB,
    `${user['quota_used']}`,
  );
  t.like(user, { quota: MB, quota_exceeded: true });
  // A write that raises it is in force there when it is answered; one that lowers it too.
  await one.api.patch(`/v0/users/${id}`, { user: { quota: 100 * MB } });
  t.is(await refusalOf(laptop, HOST), null);
  await one.api.patch(`/v0/users/${id}`, { user: { quota: MB } });
  t.is(await refusalOf(laptop, HOST), 'quota_exceeded');
  await one.api.patch(`/v0/users/${id}`, { user: { quota: null } });
  t.is(await refusalOf(laptop, HOST), null);
});

test('a quota that comes later counts what was carried before, also of a deleted device', async (t) => {
  const { database, start } = await openGateways(t);
  const gatewayId = newId();
  const first = await start(gatewayId);
  const laptop = await first.addDevice({ user: 'alice@example.com' });
  const { userId } = laptop;
  await carry(laptop, 1.1 * MB);
  await first.api.delete(`/v0/devices/${laptop.id}`);
  await first.close();
  const used = await usedBy(database, userId);
  t.true(used > 1.1 * MB, `${used}`);
  const second = await start(gatewayId);
  const phone = await second.addDevice({ user: 'alice@example.com' });
  t.is(await refusalOf(phone, HOST), null);
  await second.api.patch('/v0/configuration', { configuration: { default_quota: MB } });
  t.is(await refusalOf(phone, HOST), 'quota_exceeded');
  await second.close();
  // A start remembers it.
  const third = await start(gatewayId);
  const tablet = await third.addDevice({ user: 'alice@example.com' });
  t.is(await refusalOf(tablet, HOST), 'quota_exceeded');
  const explained = await tablet.explain(HOST, 'udp/9');
  t.is(explained.reason, 'quota_exceeded');
  t.regex(JSON.stringify(explained), /Raise the quota of the user/);
  // The last month is another one.
  await recordQuotaUsage(database, gatewayId, [
    { userId, month: monthOf(Date.now() - 40 * 86_400_000), bytes: 1e12 },
  ]);
  await third.api.patch('/v0/configuration', { configuration: { default_quota: 10 * MB } });
  t.is(await refusalOf(tablet, HOST), null);
});

test('while the database is away nothing is lost; then it counts', async (t) => {
  const { database, start } = await openGateways(t, { DEFAULT_QUOTA: `${MB}` });
  const gateway = await start();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  await carry(laptop, 0.3 * MB);
  const query = database.sequelize.query.bind(database.sequelize);
  database.sequelize.query = () => Promise.reject(new Error('away'));
  await carry(laptop, 0.8 * MB);
  await until('a warning', () =>
    gateway.log.some(({ message }) => message.includes('carried could not be written')),
  );
  t.is(await refusalOf(laptop, HOST), null);
  database.sequelize.query = query;
  await untilOver(laptop);
  t.true((await usedBy(database, laptop.userId)) > 1.1 * MB);
});
