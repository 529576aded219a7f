// Ageing of the history against a slow twin: a list of everything that was ever reported. Whatever
// order roll-ups, late reports and readers come in, the sums of every step are those of the list.

import fc from 'fast-check';
import test from 'ava';
import {
  type Database,
  newId,
  readConnections,
  readHistory,
  recordConnections,
  recordHistory,
  rollUpHistory,
  type Step,
} from '../../../models/index.ts';
import { CONNECTIONS_MAX } from '../../../models/queries/roll-up.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addManyDevices } from '../../support/database/many-devices.ts';
import { addDevice, addUser } from '../fixtures.ts';

const GATEWAYS = ['01900000-0000-7000-8000-00000000000a', '01900000-0000-7000-8000-00000000000b'];
const HOUR = 3_600;
const DAY = 86_400;
const RETENTION = 400 * DAY;
/** Noon of some day. */
const NOW = 1_800_000_000 - (1_800_000_000 % DAY) + DAY / 2;
const ten = (time: number): number => time - (time % 600);

/** What was reported: the slow twin. */
type Reported = { subject: string; start: number; counts: number[] }[];

const sumsOf = (
  reported: Reported,
  step: number,
  from: number,
  to: number,
): Map<number, number[]> => {
  const sums = new Map<number, number[]>();
  for (const { start, counts } of reported) {
    if (start < from || start >= to) continue;
    const at = start - (start % step);
    const before = sums.get(at) ?? counts.map(() => 0);
    sums.set(
      at,
      counts.map((count, i) => count + before[i]!),
    );
  }
  return sums;
};

const sorted = (sums: ReadonlyMap<number, readonly number[]>) =>
  [...sums].toSorted(([a], [b]) => a - b);

async function stepsOf(database: Database, table = 'device_traffic'): Promise<number[]> {
  const rows = await database.sequelize.query<{ step: number }>(
    `SELECT DISTINCT step FROM ${table} ORDER BY step`,
    plainSelect(),
  );
  return rows.map(({ step }) => step);
}

for (const kind of databaseKinds()) {
  test(`${kind}: random reports and roll-ups, and sums that are those of a list`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const devices = [await addDevice(database, user), await addDevice(database, user)];
    const ages = fc.oneof(
      fc.integer({ min: 0, max: 3 * DAY }),
      fc.integer({ min: 0, max: 20 * DAY }),
      fc.integer({ min: 0, max: 390 * DAY }),
    );
    const reports = fc.array(
      fc.record({
        device: fc.integer({ min: 0, max: 1 }),
        gateway: fc.integer({ min: 0, max: 1 }),
        age: ages,
        counts: fc.tuple(fc.nat(1_000_000), fc.nat(1_000_000)),
      }),
      { maxLength: 30 },
    );
    const course = fc.array(
      fc.record({ reports, passes: fc.integer({ min: 0, max: 2 * DAY }), rollers: fc.nat(2) }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(course, async (turns) => {
        await rollUpHistory(database, -10 * RETENTION, new Date(NOW * 1_000));
        const reported: Reported = [];
        let now = NOW;
        for (const turn of turns) {
          now += turn.passes;
          for (const { device, gateway, age, counts } of turn.reports) {
            const report = { subject: devices[device]!.id, start: ten(now - age), counts };
            reported.push(report);
            await recordHistory(database, GATEWAYS[gateway]!, 'device', [report]);
          }
          const at = new Date(now * 1_000);
          const rolling = Array.from({ length: turn.rollers }, () =>
            rollUpHistory(database, RETENTION, at),
          );
          await Promise.all(rolling);
        }
        await rollUpHistory(database, RETENTION, new Date(now * 1_000));
        const to = now + DAY;
        const froms: [Step, number][] = [
          [600, ten(now - 2 * DAY) + 600],
          [3_600, now - 14 * DAY - ((now - 14 * DAY) % HOUR) + HOUR],
          [86_400, now - 399 * DAY - ((now - 399 * DAY) % DAY)],
        ];
        for (const [step, from] of froms)
          for (const { id } of devices) {
            const mine = reported.filter(({ subject }) => subject === id);
            const wish = { kind: 'device', subject: id, step, from, to } as const;
            const read = await readHistory(database, wish);
            t.deepEqual(sorted(read), sorted(sumsOf(mine, step, from, to)));
          }
      }),
      { numRuns: kind === 'sqlite' ? 40 : 12 },
    );
  });

  test(`${kind}: what is old becomes hours, then days, then nothing, at its time and not before`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    const start = NOW - (NOW % DAY);
    const report = { subject: id, start, counts: [5, 6] };
    for (const gateway of GATEWAYS) await recordHistory(database, gateway, 'device', [report]);
    await recordHistory(database, GATEWAYS[0]!, 'gateway', [{ ...report, subject: '' }]);
    await recordHistory(database, GATEWAYS[0]!, 'refusal', [
      { start, counts: [7], subject: 'rule_drop' },
      { start, counts: [8], subject: 'no_peer' },
    ]);
    const rollUpAt = (time: number) => rollUpHistory(database, RETENTION, new Date(time * 1_000));
    const end = start + HOUR;
    t.deepEqual(await rollUpAt(end + 48 * HOUR - 1), { joined: 0, forgotten: 0 });
    t.deepEqual(await stepsOf(database), [600]);
    t.deepEqual(await rollUpAt(end + 48 * HOUR), { joined: 5, forgotten: 0 });
    t.deepEqual(await stepsOf(database), [3_600]);
    t.deepEqual(await rollUpAt(start + DAY + 14 * DAY - 1), { joined: 0, forgotten: 0 });
    t.deepEqual(await rollUpAt(start + DAY + 14 * DAY), { joined: 5, forgotten: 0 });
    for (const table of ['device_traffic', 'gateway_traffic', 'refused_traffic'])
      t.deepEqual(await stepsOf(database, table), [86_400]);
    const wish = { kind: 'device', subject: id, step: 86_400, from: start, to: end } as const;
    t.deepEqual([...(await readHistory(database, wish))], [[start, [10, 12]]]);
    t.deepEqual(await rollUpAt(start + DAY + RETENTION - 1), { joined: 0, forgotten: 0 });
    t.deepEqual(await rollUpAt(start + DAY + RETENTION), { joined: 0, forgotten: 5 });
    for (const table of ['device_traffic', 'gateway_traffic', 'refused_traffic'])
      t.deepEqual(await stepsOf(database, table), []);
  });

  test(`${kind}: of a thousand devices those with old rows are found, and the others cost little`, async (t) => {
    const database = await openDatabase(t, kind);
    const ids = await addManyDevices(database, (await addUser(database)).id, 1_000);
    const start = NOW - 3 * DAY;
    const old = [0, 24, 25, 249, 250, 251, 700, 999].map((place) => ids[place]!);
    const reports = old.map((subject) => ({ subject, start, counts: [1, 2] }));
    await recordHistory(database, GATEWAYS[0]!, 'device', reports);
    const recent = [{ subject: ids[500]!, start: ten(NOW), counts: [1, 2] }];
    await recordHistory(database, GATEWAYS[0]!, 'device', recent);
    let statements = 0;
    database.sequelize.addHook('beforeQuery', () => {
      statements++;
    });
    const rollUp = () => rollUpHistory(database, RETENTION, new Date(NOW * 1_000));
    t.deepEqual(await rollUp(), { joined: old.length, forgotten: 0 });
    for (const subject of [old[0]!, old.at(-1)!]) {
      const wish = { kind: 'device', subject, step: 3_600, from: 0, to: NOW } as const;
      t.deepEqual([...(await readHistory(database, wish))], [[start, [1, 2]]]);
    }
    statements = 0;
    t.deepEqual(await rollUp(), { joined: 0, forgotten: 0 });
    t.true(statements < 40, `${statements} statements`);
  });

  test(`${kind}: a retention of a day keeps a day, whatever the steps are`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, await addUser(database));
    for (let age = 0; age <= 3 * DAY; age += HOUR)
      await recordHistory(database, GATEWAYS[0]!, 'device', [
        { subject: id, start: ten(NOW) - age, counts: [1, 1] },
      ]);
    const { joined, forgotten } = await rollUpHistory(database, DAY, new Date(NOW * 1_000));
    t.true(joined > 0 && forgotten > 0);
    const wish = { kind: 'device', subject: id, step: 600, from: 0, to: NOW + DAY } as const;
    const left = [...(await readHistory(database, wish)).keys()].toSorted((a, b) => a - b);
    t.is(left.length, 25);
    t.true(left[0]! + 600 > NOW - DAY);
  });

  test(`${kind}: connections go by their age, and the oldest of one that comes and goes`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const [quiet, busy] = [await addDevice(database, user), await addDevice(database, user)];
    const one = (deviceId: string, connectedAt: number) => ({
      id: newId(),
      deviceId,
      gatewayId: GATEWAYS[0]!,
      connectedAt,
      disconnectedAt: null,
      remoteIp: null,
      remotePort: null,
      reason: null,
    });
    const nowMs = NOW * 1_000;
    const edge = nowMs - RETENTION * 1_000;
    await recordConnections(database, [one(quiet.id, edge - 1), one(quiet.id, edge)]);
    const many = Array.from({ length: CONNECTIONS_MAX + 3 }, (_, i) => one(busy.id, nowMs - i));
    await recordConnections(database, many);
    t.like(await rollUpHistory(database, RETENTION, new Date(nowMs)), { forgotten: 4 });
    const kept = await readConnections(database, quiet.id, 10);
    t.deepEqual(
      kept.map(({ connectedAt }) => connectedAt),
      [edge],
    );
    const latest = await readConnections(database, busy.id, 2 * CONNECTIONS_MAX);
    t.is(latest.length, CONNECTIONS_MAX);
    t.is(latest.at(-1)?.connectedAt, nowMs - CONNECTIONS_MAX + 1);
  });
}
