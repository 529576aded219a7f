// The reconciler on real databases: whatever is written, by whomever, the data plane obeys it soon;
// and whatever fails, what was in force stays in force. The data plane here only remembers what it
// was handed, so that its configuration can be compared with what the rows mean.

import fc from 'fast-check';
import test, { type ExecutionContext } from 'ava';
import { isEmpty, ConfigInForce } from '../../../dataplane/diff.ts';
import {
  type Amendment,
  GLOBAL_SCOPE,
  type PeerConfig,
  type RuleConfig,
} from '../../../dataplane/index.ts';
import { readAll } from '../../../lib/reconcile/read.ts';
import { Reconciler, type ReconcilerOptions } from '../../../lib/reconcile/reconciler.ts';
import type { Log } from '../../../lib/kit/process/log.ts';
import {
  currentRevision,
  type Database,
  migrate,
  recordStatus,
  readOrCreateConfiguration,
  registerGateway,
  removeDevices,
  removeUser,
  type RuleAction,
  writeTransaction,
} from '../../../models/index.ts';
import { addManyDevices, addManyRules } from '../../support/database/many-devices.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import { collect, settings as anySettings } from '../../support/reconcile/rows.ts';
import { rowsOf, slowTranslate, withoutNumbers } from '../../support/reconcile/slow-translate.ts';

const settings = { ...anySettings, gatewayId: 'test' };

/** A data plane that remembers. `failNext` makes applications fail. */
class Memory {
  readonly peers = new Map<string, PeerConfig>();
  readonly rules = new Map<string, Map<string, readonly RuleConfig[]>>();
  /** What happens to packets that no rule matches. */
  defaultAction: Amendment['defaultAction'];
  /** What was said, in order. */
  readonly amendments: Amendment[] = [];
  failNext = 0;
  /** What other gateways heard, as it was handed over, in order. */
  readonly letGone: ReadonlyMap<string, number>[] = [];

  release(heardElsewhere: ReadonlyMap<string, number>): void {
    this.letGone.push(heardElsewhere);
  }

  async amend(amendment: Amendment): Promise<void> {
    await Promise.resolve();
    if (this.failNext > 0) {
      this.failNext--;
      throw new Error('the data plane is down');
    }
    this.amendments.push(amendment);
    this.defaultAction = amendment.defaultAction ?? this.defaultAction;
    for (const [key, peer] of amendment.peers)
      if (peer === null) this.peers.delete(key);
      else this.peers.set(key, peer);
    for (const [scope, rules] of amendment.rules)
      this.rules.set(scope, new Map([...(this.rules.get(scope) ?? []), ...rules]));
  }

  rulesOf(scope: string): RuleConfig[] {
    return [...(this.rules.get(scope)?.values() ?? [])].flat();
  }
}

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

async function start(
  t: ExecutionContext,
  database: Database,
  options: Partial<Pick<ReconcilerOptions, 'wallMs' | 'log' | 'onAmended' | 'enter'>> & {
    gateway?: Memory;
  } = {},
): Promise<{ reconciler: Reconciler; gateway: Memory }> {
  const gateway = options.gateway ?? new Memory();
  const gatewayId = crypto.randomUUID();
  await registerGateway(database, { id: gatewayId, name: 'test', startedAt: new Date() });
  const reconciler = new Reconciler({
    database,
    gateway,
    settings: { ...settings, gatewayId },
    clockFloorMs: 0,
    log: options.log ?? silent,
    ...(options.onAmended === undefined ? {} : { onAmended: options.onAmended }),
    ...(options.enter === undefined ? {} : { enter: options.enter }),
    wallMs: options.wallMs ?? (() => Date.now()),
  });
  await reconciler.start();
  t.teardown(() => reconciler.stop());
  return { reconciler, gateway };
}

/** Waits until something holds, 12 s at most. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 600 && !(await holds()); i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Whether the data plane obeys exactly what the rows mean. */
async function obeys(database: Database, gateway: Memory, nowMs = Date.now()): Promise<boolean> {
  const { config, defaultAction } = slowTranslate(
    rowsOf(await collect((take) => readAll(database, take))),
    settings,
    nowMs,
  );
  const standing = new ConfigInForce();
  const rules = new Map([...gateway.rules.keys()].map((name) => [name, gateway.rulesOf(name)]));
  standing.replace(withoutNumbers({ peers: gateway.peers, rules }));
  return (
    isEmpty(standing.replace(withoutNumbers(config))) && gateway.defaultAction === defaultAction
  );
}

/** Sets what happens to packets that no rule matches; resolves to the revision. */
async function setDefault(database: Database, default_action: RuleAction): Promise<number> {
  const { id } = await readOrCreateConfiguration(database);
  const { revision } = await writeTransaction(database, async (transaction) => {
    const row = await database.models.Configuration.findByPk(id, { transaction });
    await row?.update({ default_action }, { transaction });
  });
  return revision;
}

async function turnsOf(reconciler: Reconciler, count: number): Promise<void> {
  const wanted = reconciler.work.turns + count;
  await until(async () => reconciler.work.turns >= wanted);
}

test('a poll asks SQLite for nothing while nothing was committed, by whomever', async (t) => {
  const place = await makePlace(t, 'sqlite');
  const own = await openAt(t, place);
  await migrate(own);
  const other = await openAt(t, place);
  const { reconciler } = await start(t, own);
  const { sequelize } = own;
  const query = sequelize.query.bind(sequelize);
  const asked: string[] = [];
  Object.assign(sequelize, {
    query: (sql: string, ...others: []) => {
      asked.push(sql);
      return query(sql, ...others);
    },
  });
  const count = (what: RegExp): number => asked.filter((sql) => what.test(sql)).length;
  // The first turns of the loop read what the start itself has written.
  await turnsOf(reconciler, 2);
  const before = count(/FROM revisions/);
  await turnsOf(reconciler, 2);
  t.is(count(/FROM revisions/), before);
  // That a gateway lives is a commit, and changes no row that a gateway obeys.
  await registerGateway(other, { id: 'other', name: 'other', startedAt: new Date() });
  await turnsOf(reconciler, 2);
  t.true(count(/FROM revisions/) > before, 'it was noticed');
  t.is(count(/^BEGIN/), 0, 'no transaction, no trip to the thread');
  const revision = await setDefault(other, 'drop');
  t.true(await reconciler.whenApplied(revision, 2_500), 'the poll has found it');
  t.true(count(/^BEGIN/) > 0);
});

for (const kind of databaseKinds()) {
  test(`${kind}: a database that is read and not written is an error, until it is repaired`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Gateway } = database.models;
    Object.assign(Gateway, { update: () => Promise.reject(new Error('the disk is full')) });
    const { reconciler } = await start(t, database);
    await until(async () => reconciler.error !== null);
    for (let i = 0; i < 20; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      t.is(reconciler.error?.message, 'the disk is full');
    }
    Reflect.deleteProperty(Gateway, 'update');
    await until(async () => reconciler.error === null);
    t.is(reconciler.error, null);
  });

  test(`${kind}: at a start each page of devices is served while the next is read, after all rules`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database);
    await addManyDevices(database, id, 2_500);
    await addManyRules(database, 1_500);
    const served: { devices: number; rules: number }[] = [];
    const gateway = new Memory();
    await start(t, database, {
      gateway,
      onAmended: () =>
        served.push({ devices: gateway.peers.size, rules: gateway.rulesOf(GLOBAL_SCOPE).length }),
    });
    t.deepEqual(served, [
      { devices: 1_000, rules: 1_500 },
      { devices: 2_000, rules: 1_500 },
      { devices: 2_500, rules: 1_500 },
    ]);
  });

  test(`${kind}: what cannot be obeyed is reported from the start on`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await addDevice(database, user.id);
    await addManyRules(database, 1);
    await database.sequelize.query("UPDATE rules SET destination = 'nowhere'");
    const { reconciler } = await start(t, database);
    t.deepEqual(
      reconciler.problems.map(({ table }) => table),
      ['rules'],
    );
  });

  test(`${kind}: a device that is served again is called where it was heard last`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const { gateway } = await start(t, database);
    // Made while the gateway runs: its row is read before it was ever heard.
    const device = await addDevice(database, user.id, { ipv4: '100.64.0.2' });
    const peer = (): PeerConfig | undefined => gateway.peers.get(device.public_key);
    await until(async () => peer() !== undefined);
    t.is(peer()?.resume, null);
    const row = await database.models.Gateway.findOne({ rejectOnEmpty: true });
    const latestHandshake = new Date();
    const report = { deviceId: device.id, latestHandshake, rxBytes: 1, txBytes: 1 };
    const endpoint = { remoteIp: '192.0.2.7', remotePort: 4_711, ownIp: '198.51.100.2' };
    await recordStatus(database, row.id, [{ ...report, ...endpoint }]);
    const disable = (values: object) =>
      writeTransaction(database, (transaction) =>
        database.models.User.update(values, { where: { id: user.id }, transaction }),
      );
    await disable({ disabled_at: new Date(), disabled_by: 'administrator' });
    await until(async () => peer() === undefined);
    t.is(peer(), undefined);
    await disable({ disabled_at: null, disabled_by: null });
    await until(async () => peer() !== undefined);
    t.deepEqual(peer()?.resume, {
      endpoint: { address: '192.0.2.7', port: 4_711 },
      local: '198.51.100.2',
      heardAtMs: latestHandshake.getTime(),
    });
  });

  test(`${kind}: the data plane hears which devices went to another gateway`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    const { gateway } = await start(t, database);
    await registerGateway(database, { id: 'other', name: 'other', startedAt: new Date() });
    const latestHandshake = new Date();
    const report = { deviceId: device.id, latestHandshake, rxBytes: 1, txBytes: 1 };
    await recordStatus(database, 'other', [{ ...report, remoteIp: '192.0.2.7', remotePort: 7 }]);
    await until(async () => gateway.letGone.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    t.deepEqual(gateway.letGone, [new Map([[device.public_key, latestHandshake.getTime()]])]);
  });

  test(`${kind}: a beat says from when on the next start may date its initiations`, async (t) => {
    const database = await openDatabase(t, kind);
    const floorOf = async (): Promise<number> => {
      const row = await database.models.Gateway.findOne({ rejectOnEmpty: true });
      return row.clock_floor?.getTime() ?? 0;
    };
    let nowMs = Date.parse('2026-11-20T10:00:00Z');
    await start(t, database, { wallMs: () => nowMs });
    const first = nowMs + 120_000;
    await until(async () => (await floorOf()) === first);
    t.is(await floorOf(), first);
    // The clock is set back: what was used before still counts.
    nowMs -= 3_600_000;
    await until(async () => {
      const row = await database.models.Gateway.findOne({ rejectOnEmpty: true });
      return row.seen_at.getTime() === nowMs;
    });
    t.is(await floorOf(), first);
  });

  test(`${kind}: a gateway that was forgotten is entered again, and counts as running`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Gateway } = database.models;
    let [id, nowMs] = ['', Date.now()];
    const startedAt = new Date(nowMs - 40 * 86_400_000);
    const enter = () => registerGateway(database, { id, name: 'g', startedAt });
    const { revision } = await addUser(database);
    const { reconciler } = await start(t, database, { enter, wallMs: () => nowMs });
    t.true(await reconciler.whenApplied(revision, 20_000));
    ({ id } = await Gateway.findOne({ rejectOnEmpty: true }));
    await Gateway.destroy({ where: {} });
    nowMs += 5_000; // One beat, and no other.
    await until(async () => ((await Gateway.findOne())?.applied_revision ?? 0) > 0);
    const row = await Gateway.findOne({ rejectOnEmpty: true });
    t.is(row.applied_revision, reconciler.appliedRevision);
    t.deepEqual([row.seen_at.getTime(), Number(row.clock_floor)], [nowMs, nowMs + 120_000]);
  });

  test(`${kind}: a start puts everything in force`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    await addRule(database, { destination: '10.0.0.0/8' });
    const { gateway, reconciler } = await start(t, database);
    t.deepEqual([...gateway.peers.keys()], [device.public_key]);
    t.is(gateway.rulesOf('').length, 1);
    t.true(reconciler.appliedRevision > 0);
    t.is(reconciler.deviceIdOf(device.public_key), device.id);
  });

  test(`${kind}: who watches hears what came into force, and how the work goes`, async (t) => {
    const database = await openDatabase(t, kind);
    const gone: string[] = [];
    const { gateway, reconciler } = await start(t, database, {
      onAmended: ({ peers }) => {
        for (const [key, peer] of peers)
          if (peer === null && !gateway.peers.has(key)) gone.push(key);
      },
    });
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    t.true(await reconciler.whenApplied(device.revision, 2_000));
    t.like(reconciler.servedDeviceOf(device.public_key), { id: device.id, userId: user.id });
    const { revision } = await writeTransaction(database, (tx) =>
      removeDevices(database, [device.id], tx),
    );
    t.true(await reconciler.whenApplied(revision, 2_000));
    await until(async () => gone.length > 0);
    t.deepEqual(gone, [device.public_key]);
    const { turns, turnsMs, lastTurnMs, ...work } = reconciler.work;
    t.deepEqual(work, {
      appliedRevision: revision,
      failures: 0,
      isFailing: false,
      usersOverQuota: 0,
      isClosed: false,
      isSchemaNewer: false,
      lastBackupMs: null,
    });
    t.true(turns >= 2 && turnsMs > 0 && Math.abs((lastTurnMs ?? 0) - Date.now()) < 10_000);
    const query = database.sequelize.query.bind(database.sequelize);
    database.sequelize.query = () => Promise.reject(new Error('away'));
    await until(async () => reconciler.work.isFailing);
    t.true(reconciler.work.isFailing && reconciler.work.failures > 0);
    database.sequelize.query = query;
    await until(async () => !reconciler.work.isFailing);
    t.false(reconciler.work.isFailing);
  });

  test(`${kind}: a write is in force when its revision is`, async (t) => {
    const database = await openDatabase(t, kind);
    const { gateway, reconciler } = await start(t, database);
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    t.true(await reconciler.whenApplied(device.revision, 2_000));
    t.true(gateway.peers.has(device.public_key));
    const { revision } = await writeTransaction(database, (transaction) =>
      removeDevices(database, [device.id], transaction),
    );
    t.true(await reconciler.whenApplied(revision, 2_000));
    t.false(gateway.peers.has(device.public_key));
  });

  test(`${kind}: a write of another process is picked up within a second`, async (t) => {
    const place = await makePlace(t, kind);
    const own = await openAt(t, place);
    const { migrate } = await import('../../../models/index.ts');
    await migrate(own);
    const other = await openAt(t, place);
    const { gateway, reconciler } = await start(t, own);
    const user = await addUser(other);
    const device = await addDevice(other, user.id);
    t.true(await reconciler.whenApplied(device.revision, 1_500));
    t.true(gateway.peers.has(device.public_key));
  });

  test(`${kind}: a write of another process is confirmed before the next beat is due`, async (t) => {
    const place = await makePlace(t, kind);
    const own = await openAt(t, place);
    const { migrate } = await import('../../../models/index.ts');
    await migrate(own);
    const other = await openAt(t, place);
    let nowMs = Date.parse('2026-11-20T10:00:00Z');
    await start(t, own, { wallMs: () => nowMs });
    const seenAt = async () =>
      (await other.models.Gateway.findOne({ rejectOnEmpty: true })).seen_at.getTime();
    await until(async () => (await seenAt()) === nowMs);
    // The next beat is due after five seconds, which never pass here.
    nowMs += 1_000;
    await addDevice(other, (await addUser(other)).id);
    const revision = await currentRevision(other);
    const behind = async () =>
      (await other.models.Gateway.findAll()).filter((one) => one.applied_revision < revision);
    t.is((await behind()).length, 1);
    await until(async () => (await behind()).length === 0);
    t.is(await seenAt(), nowMs);
  });

  test(`${kind}: a process that writes all the time says within a second what it obeys`, async (t) => {
    const database = await openDatabase(t, kind);
    let nowMs = Date.parse('2026-11-20T10:00:00Z');
    await start(t, database, { wallMs: () => nowMs });
    const said = async () => (await database.models.Gateway.findAll())[0];
    await until(async () => (await said())?.seen_at.getTime() === nowMs);
    await addDevice(database, (await addUser(database)).id);
    const revision = await currentRevision(database);
    const bell = setInterval(() => database.ring(revision), 10);
    t.teardown(() => clearInterval(bell));
    nowMs += 1_000;
    await until(async () => Number((await said())?.applied_revision) >= revision);
    t.is((await said())?.seen_at.getTime(), nowMs);
  });

  test(`${kind}: a revision that does not come is answered with false, in time`, async (t) => {
    const database = await openDatabase(t, kind);
    const { reconciler } = await start(t, database);
    const begun = performance.now();
    t.false(await reconciler.whenApplied(1_000_000, 200));
    t.true(performance.now() - begun < 1_000);
  });

  test(`${kind}: a data plane that fails keeps the last good state, and is tried again`, async (t) => {
    const database = await openDatabase(t, kind);
    const errors: string[] = [];
    const log: Log = { ...silent, error: (_fields, message) => void errors.push(message) };
    const { gateway, reconciler } = await start(t, database, { log });
    gateway.failNext = 2;
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    await until(async () => reconciler.error !== null);
    t.not(reconciler.error, null);
    t.true(reconciler.appliedRevision < device.revision);
    t.is(gateway.peers.size, 0);
    t.true(await reconciler.whenApplied(device.revision, 5_000));
    t.is(errors.length, 1, 'reported once');
    t.true(gateway.peers.has(device.public_key));
  });

  // docs/bugs-of-others.md#bug-20: users and sessions.
  test(`${kind}: a session ends without any write`, async (t) => {
    const database = await openDatabase(t, kind);
    // Ahead of the clock, so that a slow start does not outlast the session.
    const signedInMs = Date.now() + 3_000;
    const user = await addUser(database, { last_signed_in_at: new Date(signedInMs) });
    const device = await addDevice(database, user.id);
    await writeTransaction(database, (transaction) =>
      database.models.Configuration.create({ vpn_session_duration: 1 }, { transaction }),
    );
    const { gateway } = await start(t, database);
    const isServed = (): boolean => gateway.peers.has(device.public_key);
    t.true(isServed());
    for (let i = 0; i < 400 && isServed(); i += 1)
      await new Promise((resolve) => setTimeout(resolve, 50));
    t.false(isServed());
    t.true(Date.now() >= signedInMs + 1_000, 'and no earlier');
  });

  // docs/bugs-of-others.md#bug-20: users and sessions.
  test(`${kind}: disabling the owner takes the devices away, enabling brings them back`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    const { gateway, reconciler } = await start(t, database);
    const set = (disabled_at: Date | null): ReturnType<typeof writeTransaction> =>
      writeTransaction(database, async (transaction) => {
        const row = await database.models.User.findByPk(user.id, { transaction });
        await row?.update({ disabled_at }, { transaction });
      });
    t.true(await reconciler.whenApplied((await set(new Date())).revision, 2_000));
    t.is(gateway.peers.size, 0);
    t.true(await reconciler.whenApplied((await set(null)).revision, 2_000));
    t.true(gateway.peers.has(device.public_key));
  });

  test(`${kind}: a change tells the data plane of what it touched, and of nothing else`, async (t) => {
    const database = await openDatabase(t, kind);
    const owners = [await addUser(database), await addUser(database)];
    for (const owner of owners) for (let i = 0; i < 5; i++) await addDevice(database, owner.id);
    for (let i = 0; i < 5; i++) await addRule(database, { destination: `10.${i}.0.0/16` });
    const { gateway, reconciler } = await start(t, database);
    t.is(gateway.amendments.length, 1);
    t.is(gateway.amendments[0]!.peers.size, 10);

    const device = await addDevice(database, owners[0]!.id);
    t.true(await reconciler.whenApplied(device.revision, 2_000));
    t.deepEqual([...gateway.amendments[1]!.peers.keys()], [device.public_key]);
    t.is(gateway.amendments[1]!.rules.size, 0);

    const rule = await addRule(database, { destination: '10.9.0.0/16' });
    t.true(await reconciler.whenApplied(rule.revision, 2_000));
    t.is(gateway.amendments[2]!.peers.size, 0);
    t.deepEqual([...gateway.amendments[2]!.rules.get('')!.keys()], [rule.id]);

    const { revision } = await writeTransaction(database, async (transaction) => {
      const row = await database.models.User.findByPk(owners[1]!.id, { transaction });
      await row?.update({ disabled_at: new Date() }, { transaction });
    });
    t.true(await reconciler.whenApplied(revision, 2_000));
    t.is(gateway.amendments[3]!.peers.size, 5);
  });

  test(`${kind}: every gateway follows the default action, by bell or by poll`, async (t) => {
    const place = await makePlace(t, kind);
    const own = await openAt(t, place);
    const { migrate } = await import('../../../models/index.ts');
    await migrate(own);
    const other = await openAt(t, place);
    const here = await start(t, own);
    const there = await start(t, other);
    t.is(here.gateway.defaultAction, 'accept');
    for (const action of ['drop', 'accept'] as const) {
      const revision = await setDefault(own, action);
      t.true(await here.reconciler.whenApplied(revision, 2_000));
      t.is(here.gateway.defaultAction, action);
      t.true(await there.reconciler.whenApplied(revision, 2_500), 'within a poll');
      t.is(there.gateway.defaultAction, action);
    }
    here.gateway.failNext = 1;
    const revision = await setDefault(own, 'drop');
    t.true(await here.reconciler.whenApplied(revision, 5_000));
    t.is(here.gateway.defaultAction, 'drop', 'tried again');
  });

  test(`${kind}: a key that was replaced still names its device for the last bytes`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    const { reconciler } = await start(t, database);
    const { revision } = await writeTransaction(database, async (transaction) => {
      const row = await database.models.Device.findByPk(device.id, { transaction });
      await row?.update({ public_key: Buffer.alloc(32, 77).toString('base64') }, { transaction });
    });
    t.true(await reconciler.whenApplied(revision, 2_000));
    t.is(reconciler.deviceIdOf(device.public_key), device.id);
  });

  test(`${kind}: after random writes the data plane obeys exactly what the rows mean`, async (t) => {
    t.timeout(120_000);
    const database = await openDatabase(t, kind);
    const { gateway, reconciler } = await start(t, database);
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { minLength: 1, maxLength: 12 }), async (list) => {
        let last = 0;
        for (const action of list) last = Math.max(last, await act(database, action));
        t.true(await reconciler.whenApplied(last, 3_000));
        return obeys(database, gateway);
      }),
      { numRuns: 25 },
    );
    t.pass();
  });
}

// ---- random administrators -------------------------------------------------------------------

type Action = {
  kind: 'user' | 'device' | 'rule' | 'drop device' | 'drop user' | 'disable' | 'default';
  pick: number;
};

const actions: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom('user', 'device', 'rule', 'drop device', 'drop user', 'disable', 'default'),
  pick: fc.nat({ max: 1_000 }),
});

/**
 * Does something an administrator might; resolves to its revision, 0 when there was nothing to do.
 */
async function act(database: Database, { kind, pick }: Action): Promise<number> {
  const { User, Device } = database.models;
  const users = await User.findAll({ order: ['id'] });
  const user = users[pick % Math.max(1, users.length)];
  if (kind === 'default') return setDefault(database, pick % 2 === 0 ? 'accept' : 'drop');
  if (kind === 'user') return (await addUser(database)).revision;
  if (kind === 'rule')
    return (await addRule(database, { destination: `10.${pick >> 8}.${pick & 255}.0/24` }))
      .revision;
  if (user === undefined) return 0;
  if (kind === 'device') return (await addDevice(database, user.id)).revision;
  if (kind === 'drop user')
    return (await writeTransaction(database, (tx) => removeUser(database, user.id, tx))).revision;
  if (kind === 'disable')
    return (
      await writeTransaction(database, async (transaction) => {
        const row = await User.findByPk(user.id, { transaction });
        await row?.update(
          { disabled_at: row.disabled_at === null ? new Date() : null },
          { transaction },
        );
      })
    ).revision;
  const devices = await Device.findAll({ order: ['id'] });
  const device = devices[pick % Math.max(1, devices.length)];
  if (device === undefined) return 0;
  return (await writeTransaction(database, (tx) => removeDevices(database, [device.id], tx)))
    .revision;
}
