// Sums of traffic: gateways add up, what is gone is skipped, and a report that comes twice counts
// twice.

import test from 'ava';
import {
  type HistoryReport,
  readHistory,
  readRefusals,
  recordHistory,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../fixtures.ts';

const A = '01900000-0000-7000-8000-00000000000a';
const B = '01900000-0000-7000-8000-00000000000b';
const ABSENT = '01900000-0000-7000-8000-00000000dead';
/** The beginning of an hour and of a day. */
const DAY = 1_800_000_000 - (1_800_000_000 % 86_400);

const report = (subject: string, start: number, ...counts: number[]): HistoryReport => ({
  subject,
  start: DAY + start,
  counts,
});

for (const kind of databaseKinds()) {
  test(`${kind}: reports add up, by device and by user, over steps and gateways`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const [phone, laptop] = [await addDevice(database, ann), await addDevice(database, ann)];
    const other = await addDevice(database, bob);
    const big = 2 ** 52;
    await recordHistory(database, A, 'device', [
      report(phone.id, 0, big, 2),
      report(laptop.id, 600, 3, 4),
      report(ABSENT, 600, 99, 99),
      report(other.id, 600, 50, 60),
    ]);
    await recordHistory(database, B, 'device', [report(phone.id, 0, 1, 1)]);
    await recordHistory(database, A, 'device', [report(phone.id, 0, 10, 20)]);
    await recordHistory(database, A, 'device', [report(phone.id, 3_600, 7, 7)]);
    await recordHistory(database, A, 'device', []);
    const wish = { kind: 'device', from: DAY, to: DAY + 86_400, step: 600 } as const;
    t.deepEqual(
      [...(await readHistory(database, { ...wish, subject: phone.id }))].toSorted((a, b) =>
        String(a) < String(b) ? -1 : 1,
      ),
      [
        [DAY, [big + 11, 23]],
        [DAY + 3_600, [7, 7]],
      ],
    );
    t.deepEqual(
      [...(await readHistory(database, { ...wish, userId: ann.id, step: 3_600 }))].toSorted(
        (a, b) => (String(a) < String(b) ? -1 : 1),
      ),
      [
        [DAY, [big + 14, 27]],
        [DAY + 3_600, [7, 7]],
      ],
    );
    const day = await readHistory(database, { ...wish, userId: ann.id, step: 86_400 });
    t.deepEqual([...day], [[DAY, [big + 21, 34]]]);
    const part = { ...wish, userId: ann.id, from: DAY + 600, to: DAY + 3_600 };
    t.deepEqual([...(await readHistory(database, part))], [[DAY + 600, [3, 4]]]);
    t.is((await readHistory(database, { ...wish, subject: ABSENT })).size, 0);
  });

  test(`${kind}: rules, refusals and the gateways as a whole have histories likewise`, async (t) => {
    const database = await openDatabase(t, kind);
    const rule = await addRule(database, { destination: '10.0.0.0/8' });
    for (const gateway of [A, B]) {
      await recordHistory(database, gateway, 'rule', [
        report(rule.id, 0, 3, 400),
        report(ABSENT, 0, 1, 1),
      ]);
      await recordHistory(database, gateway, 'gateway', [report('', 0, 5, 6)]);
      await recordHistory(database, gateway, 'refusal', [
        report('rule_drop', 0, 7),
        report('no_peer', 600, 1),
      ]);
    }
    const wish = { from: DAY, to: DAY + 3_600, step: 600 } as const;
    const read = async (kindOf: 'rule' | 'gateway' | 'refusal', subject?: string) => [
      ...(await readHistory(database, {
        kind: kindOf,
        ...(subject === undefined ? {} : { subject }),
        ...wish,
      })),
    ];
    t.deepEqual(await read('rule', rule.id), [[DAY, [6, 800]]]);
    t.deepEqual(await read('gateway'), [[DAY, [10, 12]]]);
    t.deepEqual(await read('refusal'), [
      [DAY, [14]],
      [DAY + 600, [2]],
    ]);
    t.deepEqual(await read('refusal', 'no_peer'), [[DAY + 600, [2]]]);
    t.deepEqual(
      [...(await readRefusals(database, wish))],
      [
        ['no_peer', 2],
        ['rule_drop', 14],
      ],
    );
    t.deepEqual(
      [...(await readRefusals(database, { ...wish, to: DAY + 600 }))],
      [['rule_drop', 14]],
    );
  });
}
