// The sampler on real databases: increments add up, and nothing is lost while the database is away.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { Gateway, PeerSample, Sample } from '../../../dataplane/index.ts';
import { RULES_MAX, Sampler } from '../../../lib/reconcile/sampler.ts';
import type { Log } from '../../../lib/kit/process/log.ts';
import { type Database, readDevices, recordStatus } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';

const GATEWAY = '01900000-0000-7000-8000-000000000001';

/** Samples that a data plane would give, one after the other. */
function feed(...samples: Partial<Sample>[]): Pick<Gateway, 'sample' | 'whenArrived'> {
  return {
    whenArrived: () => undefined,
    sample: () =>
      Promise.resolve({ peers: [], rules: [], drops: {}, forgotten: {}, ...samples.shift() }),
  };
}

function news(publicKey: string, fields: Partial<PeerSample> = {}): PeerSample {
  return {
    publicKey,
    latestHandshakeMs: Date.UTC(2026, 10, 20),
    endpoint: { address: '192.0.2.9', port: 4711 },
    rxBytes: 100,
    txBytes: 10,
    rxInnerBytes: 64,
    txInnerBytes: 0,
    ...fields,
  };
}

function collect(): { log: Log; lines: [level: string, fields: object, message: string][] } {
  const lines: [string, object, string][] = [];
  const at =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push([level, fields, message]);
  return {
    log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    lines,
  };
}

async function setUp(
  database: Database,
): Promise<{ id: string; key: string; deviceIdOf: (key: string) => string | null }> {
  const device = await addDevice(database, (await addUser(database)).id);
  return {
    id: device.id,
    key: device.public_key,
    deviceIdOf: (key) => (key === device.public_key ? device.id : null),
  };
}

for (const kind of databaseKinds()) {
  test(`${kind}: increments add up, the endpoint is the last one`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id, key, deviceIdOf } = await setUp(database);
    const { log } = collect();
    const gateway = feed(
      { peers: [news(key)] },
      {
        peers: [news(key, { endpoint: { address: '192.0.2.10', port: 1 }, local: '198.51.100.2' })],
      },
      { peers: [news('unknown')] },
    );
    const sampler = new Sampler({ database, gateway, gatewayId: GATEWAY, deviceIdOf, log });
    for (let i = 0; i < 4; i++) await sampler.sample();
    const [row] = await readDevices(database, { ids: [id] });
    t.like(row, { rx_bytes: 200, tx_bytes: 20, remote_ip: '192.0.2.10', remote_port: 1 });
    t.is(row?.own_ip, '198.51.100.2');
    t.is(row?.latest_handshake?.getTime(), Date.UTC(2026, 10, 20));
  });

  test(`${kind}: two gateways add to one device's totals`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id, key, deviceIdOf } = await setUp(database);
    const { log } = collect();
    for (const gatewayId of [GATEWAY, GATEWAY.replace(/1$/, '2')])
      await new Sampler({
        database,
        gateway: feed({ peers: [news(key)] }),
        gatewayId,
        deviceIdOf,
        log,
      }).sample();
    const [row] = await readDevices(database, { ids: [id] });
    t.like(row, { rx_bytes: 200, tx_bytes: 20 });
  });
}

test('what could not be written is added later, and reported once', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { id, key, deviceIdOf } = await setUp(database);
  const { log, lines } = collect();
  const gateway = feed({ peers: [news(key)] }, { peers: [news(key)] }, { peers: [news(key)] });
  const sampler = new Sampler({ database, gateway, gatewayId: GATEWAY, deviceIdOf, log });
  const query = database.sequelize.query.bind(database.sequelize);
  database.sequelize.query = (() =>
    Promise.reject(new Error('away'))) as unknown as typeof database.sequelize.query;
  await sampler.sample();
  await sampler.sample();
  database.sequelize.query = query;
  await sampler.sample();
  const [row] = await readDevices(database, { ids: [id] });
  t.like(row, { rx_bytes: 300, tx_bytes: 30 });
  t.deepEqual(
    lines.map(([level]) => level),
    ['warn', 'info'],
  );
});

test('refusals are logged at debug, as increments', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { log, lines } = collect();
  const gateway = feed(
    { drops: { mac1_invalid: 2 } },
    { drops: { mac1_invalid: 5 } },
    { drops: { mac1_invalid: 5 } },
    { drops: { mac1_invalid: 1 } },
  );
  const sampler = new Sampler({
    database,
    gateway,
    gatewayId: GATEWAY,
    deviceIdOf: () => null,
    log,
  });
  for (let i = 0; i < 4; i++) await sampler.sample();
  t.deepEqual(
    lines.map(([, fields]) => fields),
    [
      { drops: { mac1_invalid: 2 } },
      { drops: { mac1_invalid: 3 } },
      { drops: { mac1_invalid: 1 } },
    ],
  );
  t.deepEqual(sampler.drops, { mac1_invalid: 1 });
});

test('hits of rules that are long gone make room', async (t) => {
  const hits = Array.from({ length: RULES_MAX + 2 }, (_, i) => ({
    id: `r${i}`,
    packets: 1,
    bytes: 60,
    lastHitMs: 7,
  }));
  const sampler = new Sampler({
    database: await openDatabase(t, 'sqlite'),
    gateway: feed({ rules: hits }),
    gatewayId: GATEWAY,
    deviceIdOf: () => null,
    log: collect().log,
  });
  await sampler.sample();
  t.is(sampler.rules.size, RULES_MAX);
  t.false(sampler.rules.has('r1'));
  t.true(sampler.rules.has('r2'));
});

test('hits of rules add up', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { log } = collect();
  const hit = { id: 'r1', packets: 1, bytes: 60, lastHitMs: 5 };
  const sampler = new Sampler({
    database,
    gateway: feed({ rules: [hit] }, { rules: [{ ...hit, lastHitMs: 9 }] }),
    gatewayId: GATEWAY,
    deviceIdOf: () => null,
    log,
  });
  await sampler.sample();
  await sampler.sample();
  t.deepEqual(sampler.rules.get('r1'), { id: 'r1', packets: 2, bytes: 120, lastHitMs: 9 });
});

test('who wants to know hears of each sample, and whether totals can be written', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { key, deviceIdOf } = await setUp(database);
  const heard: string[][] = [];
  const sampler = new Sampler({
    database,
    gateway: feed({ peers: [news(key)] }, { peers: [news('unknown')] }),
    gatewayId: GATEWAY,
    deviceIdOf,
    onSample: ({ peers }) => heard.push(peers.map(({ publicKey }) => publicKey)),
    log: collect().log,
  });
  const query = database.sequelize.query.bind(database.sequelize);
  database.sequelize.query = () => Promise.reject(new Error('away'));
  await sampler.sample();
  t.true(sampler.isFailing);
  database.sequelize.query = query;
  await sampler.sample();
  t.false(sampler.isFailing);
  t.deepEqual(heard, [[key], ['unknown']]);
});

test('a removed device is skipped', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await t.notThrowsAsync(
    recordStatus(database, GATEWAY, [
      {
        deviceId: '01900000-0000-7000-8000-00000000dead',
        latestHandshake: null,
        remoteIp: null,
        remotePort: null,
        rxBytes: 1,
        txBytes: 1,
      },
    ]),
  );
});

test('a device that came is written soon, and all that come meanwhile with one statement', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { id, key, deviceIdOf } = await setUp(database);
  const { log } = collect();
  const taken: number[] = [];
  let arrive = (): void => undefined;
  const sampler = new Sampler({
    database,
    gateway: {
      sample: () => {
        taken.push(performance.now());
        return Promise.resolve({ peers: [news(key)], rules: [], drops: {}, forgotten: {} });
      },
      whenArrived: (call) => (arrive = call),
    },
    gatewayId: GATEWAY,
    deviceIdOf,
    log,
  });
  sampler.start();
  const endpointOf = async (): Promise<string | null | undefined> =>
    (await readDevices(database, { ids: [id] }))[0]?.remote_ip;
  arrive();
  while ((await endpointOf()) !== '192.0.2.9') await sleep(5);
  const early = taken.length;
  for (let i = 0; i < 50; i += 1) arrive();
  while (taken.length === early) await sleep(5);
  await sampler.stop();
  // Timers may be late, and never early.
  t.is(early, 1, 'the first one does not wait for the second that begins with the start');
  t.true(taken[1]! - taken[0]! >= 245, `${taken[1]! - taken[0]!} ms`);
  t.is(taken.length, 3, 'fifty more make one sample, and the stop the last');
});
