// Notes that sessions are in use, and forgets old sessions and attempts to sign in.

import type { Model } from 'sequelize';
import { type ModelStatic, Op, type WhereOptions } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { toCome } from '../storage/stored-time.ts';
import type { Session } from '../tables/session.ts';

const TOUCH_EVERY_MS = 60_000;
const PRUNED_PER_STATEMENT = 500;

/** Notes that a session was used; at most once a minute, so that reading costs no write. */
export async function touchSession(
  database: Database,
  session: Pick<Session, 'id' | 'seen_at'>,
  now: Date = new Date(),
): Promise<void> {
  if (now.getTime() - session.seen_at.getTime() < TOUCH_EVERY_MS) return;
  const { Session: sessions } = database.models;
  await rerunOnConflict(database, () =>
    sessions.update({ seen_at: now }, { where: { id: session.id, seen_at: { [Op.lt]: now } } }),
  );
}

/**
 * How long wrong codes are remembered after their wait. It is far longer than the longest wait, so
 * an attacker who waits for its end guesses less often than one who goes on.
 */
const CODES_KEPT_MS = 30 * 24 * 60 * 60_000;

/** Forgets sessions and attempts that are over; returns how many rows went. */
export async function pruneSignIns(
  database: Database,
  { seenBefore, now = new Date() }: { seenBefore: Date; now?: Date },
): Promise<number> {
  const { Session: sessions, SignInAttempt: attempts } = database.models;
  return (
    (await pruneWhere(database, sessions, 'id', { seen_at: { [Op.lt]: seenBefore } })) +
    (await pruneWhere(database, attempts, 'sha256', {
      expires_at: { [Op.lt]: now },
      [Op.or]: [
        { kind: { [Op.ne]: 'code' } },
        { expires_at: { [Op.lt]: new Date(now.getTime() - CODES_KEPT_MS) } },
      ],
    }))
  );
}

/** The condition on counts of attempts that are not over; each lasts for at most so long. */
export function notOver(
  { codeMs, otherMs }: { codeMs: number; otherMs: number },
  now: Date,
): { [Op.or]: object[] } {
  return {
    [Op.or]: [
      { kind: 'code', expires_at: toCome(codeMs, now) },
      { kind: { [Op.ne]: 'code' }, expires_at: toCome(otherMs, now) },
    ],
  };
}

/** Short statements, so that nobody waits long for a lock. */
async function pruneWhere<M extends Model>(
  database: Database,
  table: ModelStatic<M>,
  key: string,
  where: WhereOptions,
): Promise<number> {
  for (let count = 0; ;) {
    const rows = await table.findAll({
      attributes: [key],
      where,
      limit: PRUNED_PER_STATEMENT,
      raw: true,
    });
    if (rows.length === 0) return count;
    const keys = rows.map((row) => (row as unknown as Record<string, string>)[key]);
    count += await rerunOnConflict(database, () =>
      table.destroy({ where: { [key]: keys } as WhereOptions }),
    );
  }
}
