// A later version migrates the database under a running gateway: what disables, deletes or ends is
// obeyed within a turn, and nothing that gives access. docs/state.md#a-later-schema.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { type Amendment, type PeerConfig, type RuleConfig } from '../../../dataplane/index.ts';
import { endedUser, idsOf, shorter } from '../../../lib/reconcile/ends.ts';
import { Reconciler } from '../../../lib/reconcile/reconciler.ts';
import type { Log } from '../../../lib/kit/process/log.ts';
import {
  type Database,
  type DeviceEnd,
  migrate,
  monthOf,
  NO_REVISION,
  pruneChanges,
  readGateways,
  readOrCreateConfiguration,
  recordQuotaUsage,
  registerGateway,
  removeDevices,
  removeUser,
  writeTransaction,
} from '../../../models/index.ts';
import { Translation } from '../../../lib/reconcile/translation.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';
import { LATER_STEP, migrateLater } from '../../support/database/later-step.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import {
  deviceRow,
  everything,
  KEY,
  OTHER_KEY,
  ruleRow,
  settings,
  userRow,
} from '../../support/reconcile/rows.ts';

const NOW = Date.UTC(2026, 10, 29);

// ---- what one row means -------------------------------------------------------------------------

test('the shorter of two durations, where 0 never ends', (t) => {
  t.is(shorter(0, 60), 60);
  t.is(shorter(60, 0), 60);
  t.is(shorter(60, 30), 30);
  t.is(shorter(60, null), 60);
  t.deepEqual(idsOf(['a', 'b'], new Map([['b', null]]), false), ['b']);
  t.deepEqual(idsOf(['a', 'b'], new Map([['b', null]]), true), ['a', 'b']);
});

test('a user ends earlier, and never later', (t) => {
  const [before, after] = [new Date(NOW - 1_000), new Date(NOW)];
  const row = userRow({ last_signed_in_at: before });
  const endOf = ({ last_signed_in_at: at }: typeof row): number => at?.getTime() ?? -Infinity;
  const end = { id: 'u1', inserted_at: row.inserted_at, disabled_at: null };
  const ended = (fields: object) =>
    endedUser(row as never, { ...end, ...fields } as never, endOf as never);
  t.is(ended({ last_signed_in_at: after }).last_signed_in_at, before);
  t.is(ended({ last_signed_in_at: null }).last_signed_in_at, null);
  t.is(ended({ last_signed_in_at: before, disabled_at: after }).disabled_at, after);
  t.not(endedUser(row as never, null, endOf as never).disabled_at, null);
  const disabled = { ...row, disabled_at: before };
  const enabled = endedUser(
    disabled as never,
    { ...end, last_signed_in_at: after },
    endOf as never,
  );
  t.is(enabled.disabled_at, before);
});

/** What the packet path gets to know of a device once this is read of it; null: it is gone. */
function afterEnd(fields: Partial<DeviceEnd> | null): PeerConfig | null | undefined {
  const translation = new Translation(settings);
  const row = deviceRow();
  translation.take(everything({ devices: [row], rules: [ruleRow()] }), NOW);
  translation.handOver();
  const end = fields === null ? null : { ...row, ...fields };
  const ends = { isAll: false, users: new Map(), vpnSessionDuration: null };
  translation.takeEnds({ ...ends, devices: new Map([['d1', end]]) }, NOW);
  return translation.pending()?.peers.get(KEY);
}

test('a device that is not the one it was is not served', (t) => {
  t.is(afterEnd({}), undefined);
  t.is(afterEnd({ expires_at: new Date(NOW + 1) }), undefined);
  for (const fields of [
    null,
    { disabled_at: new Date(NOW) },
    { expires_at: new Date(NOW) },
    { public_key: OTHER_KEY },
    { preshared_key: KEY },
    { preshared_key: null },
    { user_id: 'u2' },
    { ipv4: '100.64.0.3' },
    { ipv6: null },
  ])
    t.is(afterEnd(fields), null, JSON.stringify(fields));
});

test('an end that was read first counts, whatever is read later', (t) => {
  const translation = new Translation(settings);
  const expires_at = new Date(NOW + 1_000);
  const row = deviceRow({ expires_at });
  translation.take(everything({ devices: [row] }), NOW);
  translation.handOver();
  const ends = { isAll: false, users: new Map(), vpnSessionDuration: null };
  translation.takeEnds({ ...ends, devices: new Map([['d1', { ...row, expires_at: null }]]) }, NOW);
  t.is(translation.pending(), null);
  translation.passTo(NOW + 1_000);
  t.deepEqual(translation.pending()?.peers, new Map([[KEY, null]]));
});

test('who is over a quota stays so in a new month, and who reaches one is over it', (t) => {
  const [november, december] = [202_611, 202_612];
  const before = Date.UTC(2026, 10, 30, 23, 59);
  const translation = new Translation(settings);
  const users = [userRow({ quota: 100 }), userRow({ id: 'u2', quota: 100 })];
  const devices = [
    deviceRow(),
    deviceRow({ id: 'd2', user_id: 'u2', public_key: OTHER_KEY, ipv4: '100.64.0.9', ipv6: null }),
  ];
  const isOver = (): Record<string, boolean> =>
    Object.fromEntries(
      [...(translation.pending()?.peers ?? [])].map(([key, peer]) => [
        key,
        peer?.isOverQuota === true,
      ]),
    );
  translation.take(everything({ users, devices }), before);
  translation.hearUsage(november, ['u1', 'u2'], new Map([['u1', 100]]));
  t.deepEqual(isOver(), { [KEY]: true, [OTHER_KEY]: false });
  translation.handOver();
  const ends = { isAll: false, users: new Map(), devices: new Map(), vpnSessionDuration: null };
  translation.takeEnds(ends, before);
  translation.passTo(before + 60_000);
  translation.hearUsage(december, ['u1', 'u2'], new Map([['u2', 100]]));
  t.deepEqual(isOver(), { [OTHER_KEY]: true });
  translation.handOver();
  // The schema of this version again.
  translation.take(everything({ users, devices }), before + 60_000);
  translation.hearUsage(december, ['u1', 'u2'], new Map([['u2', 100]]));
  t.deepEqual(isOver()[KEY], false);
});

// ---- a running gateway --------------------------------------------------------------------------

/** A data plane that remembers. */
class Memory {
  readonly peers = new Map<string, PeerConfig>();
  readonly rules = new Map<string, readonly RuleConfig[]>();
  isClosed = false;

  async amend({ peers, rules, isClosed }: Amendment): Promise<void> {
    this.isClosed = isClosed ?? this.isClosed;
    for (const [key, peer] of peers)
      if (peer === null) this.peers.delete(key);
      else this.peers.set(key, peer);
    for (const ofScope of rules.values())
      for (const [id, list] of ofScope) this.rules.set(id, list);
  }

  release(): void {}
}

async function begin(t: ExecutionContext, database: Database, awayLimitMs?: number) {
  const gateway = new Memory();
  const lines: string[] = [];
  const note = (fields: object, text: string): void =>
    void lines.push(`${text} ${JSON.stringify(fields)}`);
  const log: Log = { debug() {}, info: note, warn: note, error: note };
  await registerGateway(database, { id: 'g1', name: 'older', startedAt: new Date() });
  const reconciler = new Reconciler({
    database,
    gateway,
    settings,
    clockFloorMs: 0,
    log,
    wallMs: () => Date.now(),
    ...(awayLimitMs === undefined ? {} : { awayLimitMs }),
  });
  await reconciler.start();
  t.teardown(() => reconciler.stop());
  return { gateway, lines, reconciler };
}

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 600 && !holds(); i += 1) await sleep(20);
}

for (const kind of databaseKinds()) {
  test(`${kind}: on a later schema ends are obeyed, and nothing that gives access`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const [ann, bob, cat] = [
      await addUser(database),
      await addUser(database),
      await addUser(database),
    ];
    const phones = [];
    for (const { id } of [ann, ann, ann, ann, bob, cat]) phones.push(await addDevice(database, id));
    const [kept, disabled, removed, moved, ofDisabled, ofRemoved] = phones;
    const drop = await addRule(database, { destination: '10.0.0.0/8', action: 'drop' } as never);
    const { gateway, lines, reconciler } = await begin(t, database);
    await until(() => gateway.peers.size === 6);
    const obeyed = reconciler.appliedRevision;

    const later = await migrateLater(t, place);
    await until(() => reconciler.isSchemaNewer);
    t.true(reconciler.isSchemaNewer && reconciler.work.isSchemaNewer);
    // The later version means: from nine to five, to the group of these people, not yet.
    const accept = await addRule(later, { destination: '10.1.0.0/16' });
    await later.sequelize.query(`UPDATE rules SET later_hours = '9-17' WHERE id = '${accept.id}'`);
    const fresh = await addDevice(later, ann.id);
    const { Device: devices, Rule, User } = later.models;
    await writeTransaction(later, async (transaction) => {
      await Rule.destroy({ where: { id: drop.id }, transaction });
      await devices.update(
        { disabled_at: new Date() },
        { where: { id: disabled!.id }, transaction },
      );
      await devices.update({ user_id: bob.id }, { where: { id: moved!.id }, transaction });
      await User.update({ disabled_at: new Date() }, { where: { id: bob.id }, transaction });
      await removeDevices(later, [removed!.id], transaction);
      await removeUser(later, cat.id, transaction);
    });
    await until(() => gateway.peers.size === 1);
    t.deepEqual([...gateway.peers.keys()], [kept!.public_key]);
    for (const gone of [disabled, removed, moved, ofDisabled, ofRemoved])
      t.false(gateway.peers.has(gone!.public_key));
    await sleep(1_200);
    t.false(gateway.rules.has(accept.id));
    t.is(gateway.rules.get(drop.id)?.length, 1);
    t.false(gateway.peers.has(fresh.public_key));
    t.is(reconciler.appliedRevision, obeyed);
    t.is(lines.filter((line) => line.includes(LATER_STEP.name)).length, 1, lines.join('\n'));

    // What was disabled and comes back waits for the upgrade.
    await writeTransaction(later, async (transaction) =>
      devices.update({ disabled_at: null }, { where: { id: disabled!.id }, transaction }),
    );
    await sleep(1_200);
    t.deepEqual([...gateway.peers.keys()], [kept!.public_key]);

    // The schema of this version again: all of it is obeyed.
    await later.sequelize.query(`DELETE FROM migrations WHERE name = '${LATER_STEP.name}'`);
    await until(() => gateway.rules.get(drop.id)?.length === 0 && !reconciler.isSchemaNewer);
    await until(() => reconciler.appliedRevision > obeyed);
    t.true(gateway.peers.has(fresh.public_key));
    t.true(gateway.peers.has(disabled!.public_key));
    t.is(gateway.rules.get(accept.id)?.length, 1);
    t.deepEqual(gateway.rules.get(drop.id), []);
    t.false(reconciler.isSchemaNewer);
    t.true(reconciler.appliedRevision > obeyed);
  });

  test(`${kind}: so it is where the changes are not known any more, and beats go on`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const { id } = await addUser(database);
    const [kept, removed] = [await addDevice(database, id), await addDevice(database, id)];
    const { gateway, reconciler } = await begin(t, database);
    await until(() => gateway.peers.size === 2);
    const later = await migrateLater(t, place);
    await writeTransaction(later, async (transaction) => {
      await removeDevices(later, [removed.id], transaction);
      await addRowsOf(later, transaction);
    });
    await pruneChanges(later, 0);
    await until(() => gateway.peers.size === 1);
    t.deepEqual([...gateway.peers.keys()], [kept.public_key]);
    t.is(gateway.rules.size, 0);
    t.is(reconciler.error, null);
    const [before] = await readGateways(later, 86_400_000);
    await sleep(6_000);
    const [after] = await readGateways(later, 86_400_000);
    t.true(after!.seen_at > before!.seen_at);
    t.not(reconciler.appliedRevision, NO_REVISION);
  });

  test(`${kind}: a quota that is used up on a later schema ends there too`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const { id } = await addUser(database, { quota: 1_000 });
    const { public_key } = await addDevice(database, id);
    const removed = await addDevice(database, id);
    const { gateway, lines, reconciler } = await begin(t, database);
    await until(() => gateway.peers.size === 2);
    const later = await migrateLater(t, place);
    await until(() => reconciler.isSchemaNewer);
    await recordQuotaUsage(later, 'g2', [{ userId: id, month: monthOf(Date.now()), bytes: 1_000 }]);
    await until(() => gateway.peers.get(public_key)?.isOverQuota === true);
    t.true(gateway.peers.get(public_key)?.isOverQuota);

    // Where they cannot be read, other ends are obeyed, and the log says it once.
    await later.sequelize.query('ALTER TABLE quota_usage RENAME COLUMN bytes TO octets');
    const said = (): string[] => lines.filter((line) => line.startsWith('what users carried'));
    await until(() => said().length > 0);
    await writeTransaction(later, (transaction) => removeDevices(later, [removed.id], transaction));
    await until(() => gateway.peers.size === 1);
    t.deepEqual([...gateway.peers.keys()], [public_key]);
    await sleep(4_000);
    t.is(said().length, 1);
    t.is(reconciler.error, null);
  });

  test(`${kind}: a lower quota on a later schema is obeyed, a higher one is not`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    await readOrCreateConfiguration(database);
    const ann = await addUser(database, { quota: 1_000 });
    const bob = await addUser(database);
    const [phone, laptop] = [await addDevice(database, ann.id), await addDevice(database, bob.id)];
    const { gateway, lines, reconciler } = await begin(t, database);
    const isOver = ({ public_key }: typeof phone): boolean =>
      gateway.peers.get(public_key)?.isOverQuota === true;
    const month = monthOf(Date.now());
    const carried = [ann, bob].map(({ id: userId }) => ({ userId, month, bytes: 500 }));
    await recordQuotaUsage(database, 'g2', carried);
    await until(() => gateway.peers.size === 2);
    const later = await migrateLater(t, place);
    await until(() => reconciler.isSchemaNewer);
    const set = async (quota: number, byDefault: number): Promise<void> => {
      const { Configuration, User } = later.models;
      await writeTransaction(later, async (transaction) => {
        await User.update({ quota }, { where: { id: ann.id }, transaction });
        await Configuration.update({ default_quota: byDefault }, { where: {}, transaction });
      });
    };
    await set(400, 300);
    await until(() => isOver(phone) && isOver(laptop));
    t.true(isOver(phone) && isOver(laptop));
    await set(2_000, 2_000);
    await sleep(4_000);
    t.true(isOver(phone) && isOver(laptop));

    // The log says it once if quotas cannot be read; sums are read all the same.
    await later.sequelize.query('ALTER TABLE users RENAME COLUMN quota TO allowance');
    const said = (): string[] => lines.filter((line) => line.startsWith('quotas could not'));
    await until(() => said().length > 0);
    await sleep(4_000);
    t.is(said().length, 1);
    t.is(reconciler.error, null);
  });

  test(`${kind}: rows that cannot be read there do not close the gateway`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const { id } = await addUser(database);
    const device = await addDevice(database, id);
    const { gateway, reconciler } = await begin(t, database, 2_000);
    await until(() => gateway.peers.size === 1);
    const later = await migrateLater(t, place);
    await addUser(later);
    await later.sequelize.query(
      'ALTER TABLE users RENAME COLUMN last_signed_in_at TO signed_in_at',
    );
    await writeTransaction(later, async (transaction) =>
      removeDevices(later, [device.id], transaction),
    );
    await addRule(later, { destination: '10.1.0.0/16' });
    await until(() => reconciler.error !== null);
    await sleep(3_000);
    t.not(reconciler.error, null);
    t.true(reconciler.isSchemaNewer);
    t.false(gateway.isClosed || reconciler.isClosed);
  });
}

/** A rule that the older gateway must not take. */
async function addRowsOf(
  later: Database,
  transaction: Parameters<Parameters<typeof writeTransaction>[1]>[0],
): Promise<void> {
  await later.models.Rule.create({ destination: '10.1.0.0/16' }, { transaction });
}
