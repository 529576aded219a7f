// Gateways: registered at each start, seen with each beat.

import test from 'ava';
import {
  claimBootstrapToken,
  currentRevision,
  hasOtherRunning,
  NO_REVISION,
  readGateways,
  readOtherGateways,
  recordEgress,
  recordHeartbeat,
  registerGateway,
  type Revision,
  writeTransaction,
} from '../../../models/index.ts';
import { migrations } from '../../../models/migrations/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const startedAt = new Date('2026-11-20T10:00:00.123Z');
const seenAt = new Date('2026-11-20T10:00:01.456Z');

for (const kind of databaseKinds()) {
  test(`${kind}: a gateway registers, beats, and registers again after a restart`, async (t) => {
    const database = await openDatabase(t, kind);
    const id = 'g';
    t.false(await hasOtherRunning(database, id, startedAt.getTime()));
    const fresh = await registerGateway(database, { id, name: 'one', startedAt });
    t.is(fresh.clock_floor, null);
    t.is(fresh.applied_revision, 0);
    const clockFloor = new Date('2026-11-20T10:02:01.000Z');
    const nowMs = startedAt.getTime() + 1_000;
    t.false(await hasOtherRunning(database, id, nowMs), 'it is no other');
    t.true(await hasOtherRunning(database, 'h', nowMs));
    t.false(await hasOtherRunning(database, 'h', nowMs + 60_000), 'it is silent');
    t.false(await hasOtherRunning(database, 'h', nowMs - 3_600_000), 'from the future');
    const beat = { seenAt, appliedRevision: 7 as Revision, clockFloor };
    t.true(await recordHeartbeat(database, id, beat));
    t.true(await recordHeartbeat(database, id, beat), 'the same beat again');
    const row = await database.models.Gateway.findByPk(id, { rejectOnEmpty: true });
    t.deepEqual(row.get({ plain: true }), {
      id,
      name: 'one',
      started_at: startedAt,
      seen_at: seenAt,
      applied_revision: 7,
      clock_floor: clockFloor,
      bootstrap_sha256: null,
      settings: null,
      schema_step: migrations.at(-1)?.name ?? null,
      public_key: null,
      egress: null,
      egress_reason: null,
      last_backup_at: null,
    });
    const again = await registerGateway(database, { id, name: 'two', startedAt: seenAt });
    t.is(again.name, 'two');
    t.is(again.applied_revision, 0);
    t.deepEqual(again.clock_floor, clockFloor);
  });

  test(`${kind}: a start has a later clock floor than one that ended before a beat`, async (t) => {
    const database = await openDatabase(t, kind);
    const floors: number[] = [];
    // The clock is set back by an hour at the third start.
    for (const at of [0, 100, -3_600_000, -3_599_900]) {
      const start = { id: 'g', name: 'g', startedAt: new Date(startedAt.getTime() + at) };
      const { clock_floor } = await registerGateway(database, start);
      floors.push(clock_floor?.getTime() ?? 0);
    }
    const first = startedAt.getTime() + 10_000;
    t.deepEqual(floors, [0, first, first + 10_000, first + 20_000]);
  });

  test(`${kind}: gateways that live tell what they run with, the newest first`, async (t) => {
    const database = await openDatabase(t, kind);
    t.deepEqual(await readGateways(database, 60_000, startedAt.getTime()), []);
    await registerGateway(database, { id: 'old', name: 'old', startedAt });
    const start = { settings: '{"EXTERNAL_URL":"https://a/"}', publicKey: 'k'.repeat(44) };
    await registerGateway(database, { id: 'new', name: 'new', startedAt: seenAt, ...start });
    const [newest, other] = await readGateways(database, 3_600_000, seenAt.getTime());
    t.like(newest, { id: 'new', settings: start.settings, public_key: start.publicKey });
    t.like(other, { id: 'old', settings: null });
    t.is((await readGateways(database, 1_000, seenAt.getTime())).length, 1);
    const before = startedAt.getTime() - 86_400_000;
    t.deepEqual(await readGateways(database, 3_600_000, before), [], 'the clock came back');
  });

  test(`${kind}: how packets leave a gateway is said late, and again at a start`, async (t) => {
    const database = await openDatabase(t, kind);
    const start = { id: 'g', name: 'g', startedAt };
    t.like(await registerGateway(database, start), { egress: null, egress_reason: null });
    const reason = 'no TUN interface: /dev/net/tun is missing';
    await recordEgress(database, 'g', { way: 'sockets', reason });
    await recordEgress(database, 'nobody', { way: 'tun', reason: null });
    const [late] = await readGateways(database, 60_000, startedAt.getTime());
    t.like(late, { egress: 'sockets', egress_reason: reason });
    const known = { ...start, egress: { way: 'tun', reason: null } } as const;
    t.like(await registerGateway(database, known), { egress: 'tun', egress_reason: null });
    t.is(await database.models.Gateway.count(), 1);
  });

  test(`${kind}: the beat of an unknown gateway is refused, and nothing is written`, async (t) => {
    const database = await openDatabase(t, kind);
    const beat = { seenAt, appliedRevision: NO_REVISION };
    t.false(await recordHeartbeat(database, 'nobody', beat));
    t.is(await database.models.Gateway.count(), 0);
  });

  test(`${kind}: gateways speak of themselves without moving the revision`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await currentRevision(database);
    await registerGateway(database, { id: 'g', name: 'g', startedAt });
    await recordHeartbeat(database, 'g', { seenAt, appliedRevision: before });
    t.is(await currentRevision(database), before);
  });

  test(`${kind}: the others are those that were seen lately`, async (t) => {
    const database = await openDatabase(t, kind);
    await registerGateway(database, { id: 'own', name: 'own', startedAt: seenAt });
    await registerGateway(database, { id: 'old', name: 'old', startedAt });
    await registerGateway(database, { id: 'new', name: 'new', startedAt: seenAt });
    t.deepEqual(await readOtherGateways(database, 'own', seenAt), ['new']);
    t.deepEqual((await readOtherGateways(database, 'own', startedAt)).sort(), ['new', 'old']);
  });

  test(`${kind}: what gateways ask for is known of those that were seen lately`, async (t) => {
    const database = await openDatabase(t, kind);
    await registerGateway(database, { id: 'old', name: 'old', startedAt });
    await registerGateway(database, { id: 'new', name: 'new', startedAt: seenAt });
    const claim = async (id: string, sha256: string | null, forMs: number, now = seenAt) => {
      const { result } = await writeTransaction(database, (transaction) =>
        claimBootstrapToken(database, id, { sha256, forMs, now }, transaction),
      );
      return [...result].sort();
    };
    t.deepEqual(await claim('old', 'a'.repeat(64), 60_000), ['a'.repeat(64)]);
    t.deepEqual(await claim('new', 'b'.repeat(64), 60_000), ['a'.repeat(64), 'b'.repeat(64)]);
    t.deepEqual(await claim('new', 'b'.repeat(64), 1_000), ['b'.repeat(64)], 'not lately');
    t.deepEqual(await claim('new', null, 60_000), ['a'.repeat(64)]);
    t.deepEqual(await claim('nobody', 'c'.repeat(64), 1_000), ['c'.repeat(64)]);
    const before = new Date(startedAt.getTime() - 86_400_000);
    const after = await claim('nobody', 'c'.repeat(64), 60_000, before);
    t.deepEqual(after, ['c'.repeat(64)], 'the clock came back');
  });
}
