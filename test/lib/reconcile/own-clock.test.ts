// What the gateway knows it obeys by its own clock, whether its database refuses, hangs or answers;
// and where the administrator sets a limit, no packet passes once the database is away for longer.

import test, { type ExecutionContext } from 'ava';
import type { Amendment } from '../../../dataplane/index.ts';
import { Reconciler } from '../../../lib/reconcile/reconciler.ts';
import type { Log } from '../../../lib/kit/process/log.ts';
import { type Database, registerGateway, writeTransaction } from '../../../models/index.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { address } from '../../support/dataplane/packets.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';

/** A data plane that remembers whom it serves, and by which rules. */
class Memory {
  readonly served = new Set<string>();
  readonly rules = new Set<string>();
  isClosed = false;
  failNext = 0;

  async amend({ peers, rules, isClosed }: Amendment): Promise<void> {
    if (this.failNext-- > 0) throw new Error('the data plane is down');
    for (const [key, peer] of peers)
      if (peer === null) this.served.delete(key);
      else this.served.add(key);
    for (const ofScope of rules.values())
      for (const [id, { length }] of ofScope)
        if (length === 0) this.rules.delete(id);
        else this.rules.add(id);
    this.isClosed = isClosed ?? this.isClosed;
  }

  release(): void {}
}

interface World {
  readonly database: Database;
  readonly gateway: Memory;
  readonly reconciler: Reconciler;
  readonly messages: string[];
  /** How far the wall clock is ahead. */
  aheadMs: number;
}

async function begin(
  t: ExecutionContext,
  prepare: (database: Database) => Promise<unknown>,
  awayLimitMs?: number,
): Promise<World> {
  const database = await openDatabase(t, 'sqlite');
  await prepare(database);
  await registerGateway(database, { id: 'test', name: 'test', startedAt: new Date() });
  const gateway = new Memory();
  const messages: string[] = [];
  const note = (_fields: object, message: string): void => void messages.push(message);
  const log: Log = { debug() {}, info: note, warn: note, error: note };
  const network = {
    network: address('100.64.0.0'),
    prefixBits: 10,
    address: address('100.64.0.1'),
  };
  const reconciler = new Reconciler({
    database,
    gateway,
    log,
    clockFloorMs: 0,
    settings: { ipv4: network, ipv6: null, requireSignIn: false, fixed: {}, gatewayId: 'test' },
    ...(awayLimitMs === undefined ? {} : { awayLimitMs }),
    wallMs: () => Date.now() + world.aheadMs,
  });
  const world: World = { database, gateway, reconciler, messages, aheadMs: 0 };
  await reconciler.start();
  return world;
}

/** Lets each transaction fail or hang; returns what ends that. */
function takeAway({ database }: World, how: 'refuses' | 'hangs'): () => void {
  const { sequelize } = database;
  const hanging: (() => void)[] = [];
  const away = (): Promise<never> =>
    new Promise((_resolve, reject) => {
      const refuse = (): void => reject(new Error('the database is away'));
      if (how === 'refuses') refuse();
      else hanging.push(refuse);
    });
  Object.assign(sequelize, { transaction: away, query: away });
  return () => {
    for (const name of ['transaction', 'query']) Reflect.deleteProperty(sequelize, name);
    for (const refuse of hanging) refuse();
  };
}

async function until(holds: () => boolean, limitMs = 8_000): Promise<void> {
  const endAt = performance.now() + limitMs;
  while (!holds() && performance.now() < endAt)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

const HOUR_MS = 3_600_000;
const inAnHour = (): Date => new Date(Date.now() + HOUR_MS);

/** What ends by time, and how a row says so. */
const ends: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  'a device that expires': async (database) => {
    const { id } = await addUser(database);
    await addDevice(database, id, { expires_at: inAnHour() });
  },
  'a VPN session': async (database) => {
    const { id } = await addUser(database, { last_signed_in_at: new Date() });
    await addDevice(database, id);
    await writeTransaction(database, (transaction) =>
      database.models.Configuration.create({ vpn_session_duration: 3_600 }, { transaction }),
    );
  },
};

for (const [what, prepare] of Object.entries(ends))
  for (const how of ['refuses', 'hangs'] as const)
    test(`${what} ends in time while the database ${how}`, async (t) => {
      const world = await begin(t, prepare);
      t.is(world.gateway.served.size, 1);
      const bring = takeAway(world, how);
      // The turn that runs is over by then, and the next one meets the error.
      await until(() => world.reconciler.error !== null || world.reconciler.isStuck);
      t.is(world.gateway.served.size, 1, 'nothing ended yet');
      world.aheadMs = HOUR_MS + 1_000;
      // Far more than the tick, far less than the database's own time limits.
      await until(() => world.gateway.served.size === 0, 3_000);
      t.is(world.gateway.served.size, 0);
      bring();
      await world.reconciler.stop();
    });

for (const how of ['refuses', 'hangs'] as const)
  test(`rules begin and end in time while the database ${how}`, async (t) => {
    const world = await begin(t, async (database) => {
      const destination = '10.0.0.0/8';
      await addRule(database, { destination, ends_at: inAnHour() });
      await addRule(database, { destination, starts_at: inAnHour() });
    });
    const { rules } = world.gateway;
    const [ends] = rules;
    t.is(rules.size, 1);
    const bring = takeAway(world, how);
    await until(() => world.reconciler.error !== null || world.reconciler.isStuck);
    world.gateway.failNext = 1;
    world.aheadMs = HOUR_MS + 1_000;
    await until(() => !rules.has(ends ?? ''), 3_000);
    t.is(rules.size, 1);
    t.false(rules.has(ends ?? ''), 'the other one is in force');
    bring();
    await world.reconciler.stop();
  });

test('a reconciler that is stopped while it starts leaves nothing that runs', async (t) => {
  const { database, gateway } = await begin(t, ends['a device that expires']!).then((world) =>
    world.reconciler.stop().then(() => world),
  );
  let ticks = 0;
  const reconciler = new Reconciler({
    database,
    gateway,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    clockFloorMs: 0,
    settings: { ipv4: null, ipv6: null, requireSignIn: false, fixed: {}, gatewayId: 'test' },
    wallMs: () => {
      ticks += 1;
      return Date.now();
    },
  });
  const starting = reconciler.start();
  await reconciler.stop();
  await starting;
  ticks = 0;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  t.is(ticks, 0);
});

test('an end that the data plane did not acknowledge is tried again', async (t) => {
  const world = await begin(t, ends['a device that expires']!);
  const bring = takeAway(world, 'refuses');
  await until(() => world.reconciler.error !== null);
  world.gateway.failNext = 2;
  world.aheadMs = HOUR_MS + 1_000;
  await until(() => world.gateway.served.size === 0, 3_000);
  t.is(world.gateway.served.size, 0);
  bring();
  await world.reconciler.stop();
});

for (const how of ['refuses', 'hangs'] as const)
  test(`with a limit no packet passes while the database ${how} for longer`, async (t) => {
    const world = await begin(t, ends['a device that expires']!, 2_000);
    const bring = takeAway(world, how);
    const { gateway, reconciler, messages } = world;
    await until(() => reconciler.error !== null || reconciler.isStuck || gateway.isClosed);
    await until(() => gateway.isClosed);
    t.true(gateway.isClosed && reconciler.isClosed && reconciler.work.isClosed);
    t.is(gateway.served.size, 1, 'its keys are kept');
    t.is(messages.filter((message) => message.includes('DATABASE_AWAY_LIMIT')).length, 1);
    bring();
    await until(() => !gateway.isClosed, 12_000);
    t.false(gateway.isClosed || reconciler.isClosed);
    t.true(messages.includes('the database can be read again; packets pass'));
    await reconciler.stop();
  });

test('without a limit packets pass for as long as the database is away', async (t) => {
  const world = await begin(t, ends['a device that expires']!);
  const bring = takeAway(world, 'refuses');
  await until(() => world.reconciler.error !== null);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  t.false(world.gateway.isClosed);
  bring();
  await world.reconciler.stop();
});
