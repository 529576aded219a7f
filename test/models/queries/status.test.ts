// Observed state: totals of several gateways add up, endpoints move forward only, devices that are
// gone are skipped, and nothing of it moves what administrators see as a change.

import test from 'ava';
import {
  currentRevision,
  type Database,
  readDevices,
  readArrivals,
  recordStatus,
  type StatusReport,
  touchToken,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addToken, addUser } from '../fixtures.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 10, 20, 10, 0, second, 123));

function report(deviceId: string, values: Partial<StatusReport> = {}): StatusReport {
  return {
    deviceId,
    latestHandshake: at(10),
    remoteIp: '192.0.2.1',
    remotePort: 1000,
    rxBytes: 0,
    txBytes: 0,
    ...values,
  };
}

async function statusOf(database: Database, deviceId: string) {
  const [row] = await readDevices(database, { ids: [deviceId] });
  const { gateway_id, latest_handshake, remote_ip, remote_port, rx_bytes, tx_bytes } = row!;
  return { gateway_id, latest_handshake, remote_ip, remote_port, rx_bytes, tx_bytes };
}

for (const kind of databaseKinds()) {
  test(`${kind}: bytes that several gateways saw add up`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const reports = [report(id, { rxBytes: 3, txBytes: 5 })];
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => recordStatus(database, `g${i % 2}`, reports)),
    );
    const { rx_bytes, tx_bytes } = await statusOf(database, id);
    t.is(rx_bytes, 60);
    t.is(tx_bytes, 100);
  });

  test(`${kind}: totals beyond 32 bits are exact`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const rxBytes = 2 ** 52;
    await recordStatus(database, 'g', [report(id, { rxBytes })]);
    await recordStatus(database, 'g', [report(id, { rxBytes: 1 })]);
    t.is((await statusOf(database, id)).rx_bytes, 2 ** 52 + 1);
  });

  test(`${kind}: a handshake that has not been yet gives way to the next one`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const now = at(0);
    // The clock was an hour ahead, and was set back.
    const ahead = new Date(now.getTime() + 3_600_000);
    await recordStatus(database, 'g', [report(id, { latestHandshake: ahead })], ahead);
    const silent = { latestHandshake: null, remoteIp: null, remotePort: null };
    await recordStatus(database, 'h', [report(id, silent)], now);
    t.like(await statusOf(database, id), { gateway_id: 'g', latest_handshake: ahead });
    await recordStatus(database, 'h', [report(id, { remoteIp: '192.0.2.7' })], now);
    t.like(await statusOf(database, id), {
      gateway_id: 'h',
      latest_handshake: at(10),
      remote_ip: '192.0.2.7',
    });
    // Clocks that differ by some seconds change nothing of the order.
    await recordStatus(database, 'g', [report(id, { latestHandshake: at(30) })], now);
    await recordStatus(database, 'h', [report(id, { latestHandshake: at(20) })], now);
    t.like(await statusOf(database, id), { gateway_id: 'g', latest_handshake: at(30) });
  });

  test(`${kind}: handshake and endpoint only move forward`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const steps: [
      string,
      Partial<StatusReport>,
      [string, Date | null, string | null, number | null],
    ][] = [
      ['g', { latestHandshake: null, remoteIp: null, remotePort: null }, ['g', null, null, null]],
      ['g', {}, ['g', at(10), '192.0.2.1', 1000]],
      // Earlier, by another gateway: its bytes count, its endpoint does not.
      ['h', { latestHandshake: at(9), remoteIp: '192.0.2.9' }, ['g', at(10), '192.0.2.1', 1000]],
      ['h', { latestHandshake: null, remoteIp: null }, ['g', at(10), '192.0.2.1', 1000]],
      // One handshake still: the device roamed.
      ['g', { remoteIp: '192.0.2.2', remotePort: 2000 }, ['g', at(10), '192.0.2.2', 2000]],
      ['g', { remoteIp: null, remotePort: null }, ['g', at(10), '192.0.2.2', 2000]],
      [
        'h',
        { latestHandshake: at(11), remoteIp: '2001:db8::1' },
        ['h', at(11), '2001:db8::1', 1000],
      ],
    ];
    for (const [gateway, values, [gateway_id, latest_handshake, remote_ip, remote_port]] of steps) {
      await recordStatus(database, gateway, [report(id, { ...values, rxBytes: 1 })]);
      const { rx_bytes: _, tx_bytes: _t, ...status } = await statusOf(database, id);
      t.deepEqual(status, { gateway_id, latest_handshake, remote_ip, remote_port });
    }
    t.is((await statusOf(database, id)).rx_bytes, steps.length);
  });

  test(`${kind}: the address of the gateway goes with the endpoint`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const steps: [Partial<StatusReport>, string | null][] = [
      [{ remoteIp: null, ownIp: null }, null],
      [{ ownIp: '198.51.100.2' }, '198.51.100.2'],
      // Bytes alone, and an earlier handshake, say nothing of the endpoint.
      [{ remoteIp: null }, '198.51.100.2'],
      [{ latestHandshake: at(9), ownIp: '198.51.100.9' }, '198.51.100.2'],
      [{ ownIp: '2001:db8::2', remoteIp: '2001:db8::1' }, '2001:db8::2'],
      // Where the device is now, the own address is not known.
      [{ remoteIp: '192.0.2.3' }, null],
    ];
    for (const [values, own] of steps) {
      await recordStatus(database, 'g', [report(id, values)]);
      const [row] = await readDevices(database, { ids: [id] });
      t.is(row?.own_ip, own, JSON.stringify(values));
    }
  });

  test(`${kind}: devices that are gone are skipped, the others are not`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    await recordStatus(database, 'g', [report('gone'), report(id, { rxBytes: 7 }), report('x')]);
    t.is((await statusOf(database, id)).rx_bytes, 7);
    t.is(await database.models.DeviceStatus.count(), 1);
  });

  test(`${kind}: no report at all is fine, and so are more than one statement holds`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    await recordStatus(database, 'g', []);
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push((await addDevice(database, user)).id);
    const gone = Array.from({ length: 700 }, (_, i) => report(`gone-${i}`));
    await recordStatus(database, 'g', [...gone, ...ids.map((id) => report(id))]);
    t.is(await database.models.DeviceStatus.count(), 5);
  });

  test(`${kind}: two gateways that report on the same devices do not hinder each other`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const ids: string[] = [];
    for (let i = 0; i < 50; i += 1) ids.push((await addDevice(database, user)).id);
    const reports = ids.map((id) => report(id, { rxBytes: 1 }));
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        recordStatus(database, `g${i % 2}`, i % 2 === 0 ? reports : reports.toReversed()),
      ),
    );
    for (const device of await readDevices(database)) t.is(device.rx_bytes, 20);
  });

  test(`${kind}: what is observed moves neither the revision nor updated_at`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user);
    const token = await addToken(database, user);
    const before = await currentRevision(database);
    await recordStatus(database, 'g', [report(device.id)]);
    await touchToken(database, token.id);
    t.is(await currentRevision(database), before);
    const { updated_at } = device;
    t.deepEqual((await device.reload()).updated_at, updated_at);
    const tokenUpdated = token.updated_at;
    t.deepEqual((await token.reload()).updated_at, tokenUpdated);
  });

  test(`${kind}: a device arrives with its first handshake at a gateway, and not with the next`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const other = (await addDevice(database, await addUser(database))).id;
    const write = (gatewayId: string, latestHandshake: Date | null, now = at(20)) =>
      recordStatus(database, gatewayId, [report(id, { latestHandshake, txBytes: 1 })], now);
    /** Seconds, by gateway. */
    const arrivals = async (after = at(0)) => {
      const read = async (gateway: string) =>
        (await readArrivals(database, [gateway], after, at(20))).map(
          ({ deviceId, atMs }) => (t.is(deviceId, id), (atMs - at(0).getTime()) / 1_000),
        );
      return { g1: await read('g1'), g2: await read('g2') };
    };
    await recordStatus(database, 'g3', [report(other)]);
    await write('g1', null);
    t.deepEqual(await arrivals(), { g1: [], g2: [] });
    await write('g1', at(5));
    await write('g1', at(7));
    t.deepEqual(await arrivals(), { g1: [5], g2: [] }, 'a renewal is no arrival');
    t.deepEqual(await arrivals(at(5)), { g1: [], g2: [] }, 'later than a time');
    await write('g2', at(10));
    await write('g2', at(11));
    t.deepEqual(await arrivals(), { g1: [], g2: [10] });
    // What the former gateway still reports of an older handshake takes nothing back.
    await write('g1', at(7));
    await write('g1', null);
    t.deepEqual(await arrivals(), { g1: [], g2: [10] });
    t.is((await statusOf(database, id)).tx_bytes, 7);
    await write('g1', at(12));
    t.deepEqual(await arrivals(), { g1: [12], g2: [] });
    // A clock that was wrong is right again: what it said counts no more, and is replaced.
    await write('g2', at(500));
    t.deepEqual(await arrivals(), { g1: [], g2: [] });
    await write('g2', at(15));
    t.deepEqual(await arrivals(), { g1: [], g2: [15] });
    t.deepEqual(await readArrivals(database, [], at(0), at(20)), []);
  });

  test(`${kind}: arrivals are found by their index, not by looking at all statuses`, async (t) => {
    const database = await openDatabase(t, kind);
    const userId = await addUser(database);
    const rows = await Promise.all(
      Array.from({ length: 50 }, async () => report((await addDevice(database, userId)).id)),
    );
    await recordStatus(database, 'g', rows);
    const statements: string[] = [];
    const query = database.sequelize.query.bind(database.sequelize);
    const explain = kind === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
    t.teardown(() => Object.assign(database.sequelize, { query }));
    Object.assign(database.sequelize, {
      query: async (sql: string, options: object) => {
        statements.push(JSON.stringify(await query(`${explain} ${sql}`, options)));
        return [];
      },
    });
    await readArrivals(database, ['f', 'g'], at(10));
    t.regex(statements.join(), /"device_statuses_gateway_id_arrived_at|INDEX device_statuses_g/);
  });

  test(`${kind}: the use of a token is noted at most once a minute`, async (t) => {
    const database = await openDatabase(t, kind);
    const token = await addToken(database, await addUser(database));
    const used = async (now: Date): Promise<Date | null> => {
      await touchToken(database, token.id, now);
      return (await token.reload()).last_used_at;
    };
    const first = new Date('2026-11-20T10:00:00.500Z');
    t.deepEqual(await used(first), first);
    t.deepEqual(await used(new Date('2026-11-20T10:00:59.000Z')), first);
    const second = new Date('2026-11-20T10:01:00.500Z');
    t.deepEqual(await used(second), second);
    const before = new Date('2026-10-20T10:00:00.000Z');
    t.deepEqual(await used(before), before, 'the clock came back');
    await touchToken(database, 'nobody');
  });
}
