// What a stored time means whose clock was ahead: as a function, and as a condition of SQL.

import test from 'ava';
import {
  countsFrom,
  isToCome,
  isWithin,
  latestStored,
  notToCome,
  toCome,
  within,
} from '../../../models/storage/stored-time.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const NOW = Date.parse('2026-11-21T08:00:00.000Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** For how long a time counts, and how far ahead it may lie. */
const BEARABLE: readonly (readonly [forMs: number, aheadMs: number])[] = [
  [MINUTE_MS, MINUTE_MS],
  [5 * MINUTE_MS, 75_000],
  [HOUR_MS, 15 * MINUTE_MS],
  [8 * HOUR_MS, 2 * HOUR_MS],
  [YEAR_MS, 2 * HOUR_MS],
];

test('a time counts from a while before it until its time is over', (t) => {
  for (const [forMs, aheadMs] of BEARABLE) {
    for (const [ago, want] of [
      [-2 * YEAR_MS, false],
      [-aheadMs - 1, false],
      [-aheadMs, true],
      [0, true],
      [forMs - 1, true],
      [forMs, false],
      [2 * YEAR_MS, false],
    ] as const) {
      t.is(isWithin(new Date(NOW - ago), forMs, new Date(NOW)), want, `${ago} of ${forMs}`);
      t.is(isToCome(NOW - ago + forMs, forMs, NOW), want, `the end of ${ago} of ${forMs}`);
    }
    t.is(countsFrom(new Date(NOW), forMs), NOW - aheadMs);
    t.deepEqual(latestStored(NOW, forMs), new Date(NOW + aheadMs));
  }
  t.is(countsFrom(NOW), NOW - MINUTE_MS);
});

for (const kind of databaseKinds()) {
  test(`${kind}: conditions of SQL say what the functions say`, async (t) => {
    const { models } = await openDatabase(t, kind);
    const { SignInAttempt: attempts } = models;
    for (const [forMs, aheadMs] of BEARABLE) {
      const agos = [-2 * YEAR_MS, -aheadMs - 1, -aheadMs, 0, forMs - 1, forMs, 2 * YEAR_MS];
      const times = agos.map((ago) => NOW - ago);
      const found = async (at: number, condition: object): Promise<boolean> => {
        const sha256 = 'a'.repeat(64);
        await attempts.upsert({ sha256, kind: 'code', count: 1, expires_at: new Date(at) });
        return (await attempts.count({ where: { expires_at: condition } })) === 1;
      };
      for (const at of times) {
        t.is(await found(at, within(forMs, NOW)), isWithin(at, forMs, NOW), `${at} of ${forMs}`);
        const end = at + forMs;
        t.is(await found(end, toCome(forMs, NOW)), isToCome(end, forMs, NOW), `${end}`);
        t.is(await found(end, notToCome(forMs, NOW)), !isToCome(end, forMs, NOW), `not ${end}`);
      }
    }
  });
}
