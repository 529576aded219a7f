// Writes entries of the audit trail at the end of each transaction, and deletes old ones.
// models/database/audit-search.ts reads it. docs/state.md#audit-trail.

import { QueryTypes, type Transaction } from 'sequelize';
import type { AuditDraft } from '../storage/auditing.ts';
import type { Database } from './database.ts';
import { giveWay } from '../storage/give-way.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { sqlTime } from '../storage/time.ts';

/** Entries that one statement writes: few round trips. */
const ENTRIES_PER_STATEMENT = 200;
/** Entries that one statement deletes. Each index is changed too, and others wait meanwhile. */
const PRUNED_PER_STATEMENT = 100;
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

/**
 * Forgets the entries from before a time, some at a time, with pauses in which others write.
 * Returns how many went; `isStopping` ends it between two statements.
 */
export async function pruneAuditEntries(
  database: Database,
  before: Date,
  isStopping: () => boolean = () => false,
): Promise<number> {
  const end = firstIdAt(before);
  let count = 0;
  while (!isStopping()) {
    const rows = await database.sequelize.query<{ id: string }>(
      `SELECT id FROM audit_entries WHERE id < :end ORDER BY id LIMIT ${PRUNED_PER_STATEMENT}`,
      { ...plainSelect(), replacements: { end } },
    );
    const last = rows.at(-1)?.id;
    if (last === undefined) return count;
    const startedAt = performance.now();
    count += await rerunOnConflict(database, () =>
      database.sequelize.query('DELETE FROM audit_entries WHERE id <= :last', {
        replacements: { last },
        type: QueryTypes.BULKDELETE,
      }),
    );
    await giveWay(startedAt);
  }
  return count;
}

/** A text below every id that was made at a time or later, and above every earlier one. */
export function firstIdAt(time: Date): string {
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
