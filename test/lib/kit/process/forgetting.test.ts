// A gateway that starts with a clock two years ahead loses nothing: audit trail, sessions, history,
// what users carried this month, used assertions and links are all there when the clock is right.

import test from 'ava';
import { forgetLinks } from '../../../../lib/auth/one-time-links.ts';
import { forgetSessions } from '../../../../lib/auth/sessions.ts';
import { forgetHistory } from '../../../../lib/observe/history/keeping.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { forgettingTime } from '../../../../lib/kit/process/forgetting.ts';
import { forgetEntries } from '../../../../lib/kit/records/audit.ts';
import { forgetOldGateways } from '../../../../lib/kit/records/gateways.ts';
import { forgetUsage } from '../../../../lib/domain/users/usage.ts';
import { type LogLine, logInto } from '../../../support/api/server.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { countsOfOldRows, fillWithOldRows } from '../../../support/database/old-rows.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

for (const kind of databaseKinds())
  test(`${kind}: a start with a clock two years ahead forgets nothing, and says so`, async (t) => {
    const database = await openDatabase(t, kind);
    const rightMs = Date.now();
    await fillWithOldRows(database, rightMs);
    const lines: LogLine[] = [];
    const log = logInto(lines);
    const counters = new Counters();
    let [wallMs, monotonicMs] = [rightMs, 0];
    const start = () => {
      const clocks = { nowMs: () => monotonicMs, wall: () => new Date(wallMs) };
      const time = forgettingTime({ database, log, counters }, clocks);
      const chores = [
        forgetEntries(database, 30, log, time),
        forgetSessions(database, time),
        forgetLinks(database, time),
        forgetHistory(database, 400, log, time),
        forgetUsage(database, time),
        forgetOldGateways(database, time),
      ];
      return async () => {
        for (const { run } of chores) await run(() => false);
      };
    };
    await start()();
    const before = await countsOfOldRows(database);
    t.true(Object.values(before).every((count) => count > 0));
    t.deepEqual(
      lines.filter(({ level }) => level === 'warn'),
      [],
    );

    wallMs = rightMs + 730 * DAY_MS;
    const wrong = start();
    [wallMs, monotonicMs] = [wallMs + 600_000, 600_000];
    await wrong();
    const { history, ...rest } = await countsOfOldRows(database);
    const { history: sums = 0, ...others } = before;
    t.deepEqual(rest, others);
    // Those of a day at most became part of longer steps.
    t.true(Number(history) >= sums - 2, `${history} of ${sums}`);
    const [warning, ...more] = lines.filter(({ level }) => level === 'warn');
    t.regex(warning?.message ?? '', /the clock is days after the last time/);
    t.like(warning?.fields, { days: 730 });
    t.deepEqual(more, []);
    t.deepEqual(counters.read().clock_jumps, { ahead: 1 });

    wallMs = rightMs + HOUR_MS;
    await start()();
    t.regex(lines.at(-1)?.message ?? '', /the clock was set back/);
    t.deepEqual(counters.read().clock_jumps, { ahead: 1, back: 1 });
    t.is((await countsOfOldRows(database))['entries'], before['entries']);
  });

test('a clock that jumps while a gateway runs moves a day, and the time since the last look', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  let [wallMs, monotonicMs] = [Date.now(), 0];
  const shared = { database, log: logInto([]), counters: new Counters() };
  const time = forgettingTime(shared, {
    nowMs: () => monotonicMs,
    wall: () => new Date(wallMs),
  });
  const pass = (ms: number): void => void ([wallMs, monotonicMs] = [wallMs + ms, monotonicMs + ms]);
  await time();
  for (let hour = 0; hour < 5; hour += 1) {
    pass(HOUR_MS);
    t.is((await time()).getTime(), wallMs);
  }
  const beforeMs = wallMs;
  pass(HOUR_MS);
  wallMs += 365 * DAY_MS;
  t.is((await time()).getTime() - beforeMs, DAY_MS + 2 * HOUR_MS);
});
