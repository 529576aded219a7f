// A gateway that starts with a clock two years ahead loses nothing: audit trail, sessions, history,
// what users carried this month, used assertions and links are all there when the clock is right.

import test from 'ava';
import { forgetLinks } from '../../../lib/auth/one-time-links.ts';
import { forgetSessions } from '../../../lib/auth/sessions.ts';
import { forgetHistory } from '../../../lib/history/keeping.ts';
import { forgettingTime } from '../../../lib/process/forgetting.ts';
import { forgetEntries } from '../../../lib/records/audit.ts';
import { forgetUsage } from '../../../lib/users/usage.ts';
import {
  type Database,
  monthOf,
  recordHistory,
  recordQuotaUsage,
  useAssertion,
} from '../../../models/index.ts';
import { type LogLine, logInto } from '../../support/api/server.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const GATEWAY = '01900000-0000-7000-8000-000000000001';

/** Fills every table that is forgotten by its age, with what is right now and a month old. */
async function fill(database: Database, nowMs: number): Promise<void> {
  const user = await addUser(database);
  const { id: subject } = await addDevice(database, user.id);
  const times = { inserted_at: new Date(nowMs), seen_at: new Date(nowMs) };
  const session = { user_id: user.id, sha256: 'a'.repeat(64), state: 'open', method: 'email' };
  await database.models.Session.create({ ...session, ...times } as never);
  for (let days = 0; days < 30; days += 1) {
    const start = Math.floor((nowMs - days * DAY_MS) / 600_000) * 600;
    await recordHistory(database, GATEWAY, 'device', [{ subject, start, counts: [1, 1] }]);
  }
  const month = monthOf(nowMs);
  await recordQuotaUsage(database, GATEWAY, [{ userId: user.id, month, bytes: 9 }]);
  const expiresAt = new Date(nowMs + 8 * HOUR_MS);
  await useAssertion(database, { id: 'b'.repeat(64), expiresAt });
  await database.models.OneTimeLink.create({
    user_id: user.id,
    purpose: 'enrolment',
    sha256: 'c'.repeat(64),
    created_by: null,
    inserted_at: new Date(nowMs),
    expires_at: new Date(nowMs + HOUR_MS),
  });
}

async function countsOf({ models, sequelize }: Database): Promise<Record<string, number>> {
  const count = async (table: string): Promise<number> => {
    const [rows] = await sequelize.query(`SELECT COUNT(*) AS count FROM ${table}`);
    return Number((rows as { count: number }[])[0]?.count);
  };
  return {
    entries: await models.AuditEntry.count(),
    sessions: await models.Session.count(),
    links: await models.OneTimeLink.count(),
    assertions: await models.UsedAssertion.count(),
    usage: await count('quota_usage'),
    history: await count('device_traffic'),
  };
}

for (const kind of databaseKinds())
  test(`${kind}: a start with a clock two years ahead forgets nothing, and says so`, async (t) => {
    const database = await openDatabase(t, kind);
    const rightMs = Date.now();
    await fill(database, rightMs);
    const lines: LogLine[] = [];
    const log = logInto(lines);
    let [wallMs, monotonicMs] = [rightMs, 0];
    const start = () => {
      const clocks = { nowMs: () => monotonicMs, wall: () => new Date(wallMs) };
      const time = forgettingTime(database, log, clocks);
      const chores = [
        forgetEntries(database, 30, log, time),
        forgetSessions(database, time),
        forgetLinks(database, time),
        forgetHistory(database, 400, log, time),
        forgetUsage(database, time),
      ];
      return async () => {
        for (const { run } of chores) await run(() => false);
      };
    };
    await start()();
    const before = await countsOf(database);
    t.true(Object.values(before).every((count) => count > 0));
    t.deepEqual(
      lines.filter(({ level }) => level === 'warn'),
      [],
    );

    wallMs = rightMs + 730 * DAY_MS;
    const wrong = start();
    [wallMs, monotonicMs] = [wallMs + 600_000, 600_000];
    await wrong();
    const { history, ...rest } = await countsOf(database);
    const { history: sums = 0, ...others } = before;
    t.deepEqual(rest, others);
    // Those of a day at most became part of longer steps.
    t.true(Number(history) >= sums - 2, `${history} of ${sums}`);
    const [warning, ...more] = lines.filter(({ level }) => level === 'warn');
    t.regex(warning?.message ?? '', /the clock is days after the last time/);
    t.like(warning?.fields, { days: 730 });
    t.deepEqual(more, []);

    wallMs = rightMs + HOUR_MS;
    await start()();
    t.regex(lines.at(-1)?.message ?? '', /the clock was set back/);
    t.is((await countsOf(database))['entries'], before['entries']);
  });
