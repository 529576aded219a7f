// Rows in every table of which old ones are forgotten by a clock, for tests of clocks that are wrong.

import {
  monthOf,
  recordHistory,
  recordQuotaUsage,
  registerGateway,
  useAssertion,
  type Database,
} from '../../../models/index.ts';
import { addDevice, addUser } from './records.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const GATEWAY = '01900000-0000-7000-8000-000000000001';
const RUNNING = '01900000-0000-7000-8000-000000000002';

/** Fills every table that is forgotten by its age, with what is right now and a month old. */
export async function fillWithOldRows(database: Database, nowMs: number): Promise<void> {
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
  const startedAt = new Date(nowMs - 20 * DAY_MS);
  await registerGateway(database, { id: GATEWAY, name: 'stopped', startedAt });
  await registerGateway(database, { id: RUNNING, name: 'running', startedAt: new Date(nowMs) });
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

/** How many rows each of these tables has. */
export async function countsOfOldRows({
  models,
  sequelize,
}: Database): Promise<Record<string, number>> {
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
    gateways: await models.Gateway.count(),
    history: await count('device_traffic'),
  };
}
