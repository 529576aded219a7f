// Keeps which change of the console can be undone, finds the entries of the audit trail that it
// left, and lets it be taken once.

import { Op, type Transaction } from 'sequelize';
import { firstIdAt } from '../database/audit-trail.ts';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import type { AuditEntry } from '../tables/audit-entry.ts';

/** The most entries of one change: the members that one form adds to a group. */
const ENTRIES_MAX = 1_000;

/** The entries that a request of a browser left, the oldest first; [] where there are too many. */
export async function readEntriesOfRequest(
  { models }: Database,
  { requestId, userId, since }: { requestId: string; userId: string; since: Date },
): Promise<AuditEntry[]> {
  const entries = await models.AuditEntry.findAll({
    where: {
      id: { [Op.gte]: firstIdAt(since) },
      request_id: requestId,
      user_id: userId,
      token_id: null,
    },
    order: [['id', 'ASC']],
    limit: ENTRIES_MAX + 1,
  });
  return entries.length > ENTRIES_MAX ? [] : entries;
}

/** Keeps that a session can undo a change; forgets what nobody can undo any more. */
export async function keepUndo(
  database: Database,
  undo: { sessionId: string; entries: readonly string[] },
  endedBefore: Date,
): Promise<string> {
  const { Undo } = database.models;
  await forgetUndos(database, endedBefore);
  const { id } = await rerunOnConflict(database, () =>
    Undo.create({
      session_id: undo.sessionId,
      entries: undo.entries,
      inserted_at: new Date(),
    }),
  );
  return id;
}

/**
 * The entries of a change that a session may undo; null if it may not. In a transaction, in which
 * `dropUndo` makes sure that nobody undoes it twice.
 */
export async function findUndo(
  { models }: Database,
  wanted: { id: string; sessionId: string; since: Date },
  transaction: Transaction,
): Promise<AuditEntry[] | null> {
  const undo = await models.Undo.findOne({
    where: {
      id: wanted.id,
      session_id: wanted.sessionId,
      inserted_at: { [Op.gt]: wanted.since },
    },
    lock: true,
    transaction,
  });
  if (undo === null) return null;
  return models.AuditEntry.findAll({
    where: { id: [...undo.entries] },
    order: [['id', 'DESC']],
    transaction,
  });
}

/** Forgets a change that is undone. */
export async function dropUndo(
  { models }: Database,
  id: string,
  transaction: Transaction,
): Promise<void> {
  await models.Undo.destroy({ where: { id }, transaction });
}

/** Forgets the changes from before a time. */
export async function forgetUndos(database: Database, before: Date): Promise<void> {
  const { Undo } = database.models;
  await rerunOnConflict(database, () =>
    Undo.destroy({ where: { inserted_at: { [Op.lte]: before } } }),
  );
}
