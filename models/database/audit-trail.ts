// The audit trail: written at the end of each transaction, read by filters, forgotten when it is
// old. docs/state.md#audit-trail.

import { col, fn, Op, QueryTypes, type Transaction, where, type WhereOptions } from 'sequelize';
import type { AuditDraft } from '../storage/auditing.ts';
import type { Database } from './database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { sqlTime } from '../storage/time.ts';
import type { AuditEntry } from '../tables/audit-entry.ts';

/** Entries that one statement writes or deletes: few round trips, short locks. */
const ENTRIES_PER_STATEMENT = 200;
const PRUNED_PER_STATEMENT = 1_000;
/** Entries that one reading yields at most. */
const READ_MAX = 10_000;
const COLUMNS =
  'id, happened_at, actor, user_id, email, token_id, action, kind, record_id, changes, ' +
  'request_id, address';

/** Writes what a transaction gathered, within it. */
export async function appendAuditEntries(
  database: Database,
  drafts: readonly AuditDraft[],
  transaction: Transaction,
): Promise<void> {
  const inserts: Promise<unknown>[] = [];
  for (let start = 0; start < drafts.length; start += ENTRIES_PER_STATEMENT) {
    const rows = drafts
      .slice(start, start + ENTRIES_PER_STATEMENT)
      .map((draft) => valuesOf(database, draft));
    inserts.push(
      database.kind === 'sqlite'
        ? insertOnSqlite(database, rows, transaction)
        : database.sequelize.query(`INSERT INTO audit_entries (${COLUMNS}) VALUES :rows`, {
            replacements: { rows },
            type: QueryTypes.INSERT,
            transaction,
          }),
    );
  }
  await Promise.all(inserts);
}

/** What to read of the trail. */
export interface AuditSelection {
  /** Entries from this time on. */
  readonly since?: Date;
  /** Entries from before this time. */
  readonly until?: Date;
  /** Entries that are older than this one. */
  readonly beforeId?: string;
  /** In the name of this e-mail, in any case; or of this actor. */
  readonly who?: string;
  readonly action?: string;
  readonly kind?: string;
  readonly recordId?: string;
  /** As many of the newest; at most 10,000. */
  readonly limit: number;
}

/** Reads the newest entries, the oldest of them first. */
export async function readAuditEntries(
  database: Database,
  selection: AuditSelection,
): Promise<AuditEntry[]> {
  const found = await database.models.AuditEntry.findAll({
    where: conditionsOf(selection),
    order: [['id', 'DESC']],
    limit: Math.min(selection.limit, READ_MAX),
  });
  return found.toReversed();
}

function conditionsOf(selection: AuditSelection): WhereOptions {
  const { since, until, beforeId, who, action, kind, recordId } = selection;
  const sameEmail = (text: string) => where(fn('LOWER', col('email')), text.toLowerCase());
  const conditions = [
    since && { id: { [Op.gte]: firstIdAt(since) } },
    until && { id: { [Op.lt]: firstIdAt(until) } },
    beforeId !== undefined && { id: { [Op.lt]: beforeId } },
    who !== undefined && { [Op.or]: [{ email: who }, sameEmail(who), { actor: who }] },
    action !== undefined && { action },
    kind !== undefined && { kind },
    recordId !== undefined && { record_id: recordId },
  ];
  return { [Op.and]: conditions.filter((condition) => typeof condition === 'object') };
}

/** Forgets the entries from before a time; returns how many went. */
export async function pruneAuditEntries(database: Database, before: Date): Promise<number> {
  const { AuditEntry: entries } = database.models;
  const older = { id: { [Op.lt]: firstIdAt(before) } };
  for (let count = 0; ;) {
    const rows = await entries.findAll({
      attributes: ['id'],
      where: older,
      order: [['id', 'ASC']],
      limit: PRUNED_PER_STATEMENT,
      raw: true,
    });
    const last = rows.at(-1);
    if (last === undefined) return count;
    count += await rerunOnConflict(database, () =>
      entries.destroy({ where: { id: { [Op.lte]: last.id } } }),
    );
  }
}

/** A text below every id that was made at a time or later, and above every earlier one. */
function firstIdAt(time: Date): string {
  const ms = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}`;
}

function valuesOf({ kind }: Database, { origin, ...draft }: AuditDraft): (string | null)[] {
  return [
    draft.id,
    sqlTime(kind, draft.happenedAt),
    origin.actor,
    origin.userId ?? null,
    origin.email ?? null,
    origin.tokenId ?? null,
    draft.action,
    draft.kind,
    draft.recordId,
    JSON.stringify(draft.changes),
    origin.requestId ?? null,
    origin.address ?? null,
  ];
}

/** One text for any number of rows stays prepared. */
async function insertOnSqlite(
  database: Database,
  rows: readonly (string | null)[][],
  transaction: Transaction,
): Promise<void> {
  const columns = COLUMNS.split(', ').map((_column, i) => `value ->> ${i}`);
  await database.sequelize.query(
    `INSERT INTO audit_entries (${COLUMNS}) SELECT ${columns.join(', ')} FROM json_each($rows)`,
    { bind: { rows: JSON.stringify(rows) }, type: QueryTypes.INSERT, transaction },
  );
}
