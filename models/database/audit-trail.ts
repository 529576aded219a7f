// Writes entries of the audit trail at the end of each transaction, and deletes old ones.
// models/database/audit-search.ts reads it. docs/state.md#audit-trail.

import { QueryTypes, type Transaction } from 'sequelize';
import type { AuditDraft, Named } from '../storage/auditing.ts';
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
  'request_id, address, record_name, owner_name, token_name';
/** How many of them are names; they are the last. */
const NAMES = 3;
/** The most characters of a name. */
const NAME_CHARACTERS_MAX = 255;
/** Where records are called by their names. */
const NAME_COLUMNS: Readonly<Record<Named['table'], string>> = {
  users: 'email',
  user_groups: 'name',
  devices: 'name',
  policy_tests: 'name',
  api_tokens: 'name',
};
/** Events that write no tracked table name records of these kinds by their ids. */
const NAMED_KINDS: Readonly<Partial<Record<AuditDraft['kind'], Named['table']>>> = {
  user: 'users',
  device: 'devices',
  policy_test: 'policy_tests',
};
const SQLITE_INSERT = sqliteInsert();

/** Writes what a transaction gathered, within it. */
export async function appendAuditEntries(
  database: Database,
  drafts: readonly AuditDraft[],
  transaction: Transaction,
): Promise<void> {
  const inserts: Promise<unknown>[] = [];
  const written = namesWritten(drafts);
  for (let start = 0; start < drafts.length; start += ENTRIES_PER_STATEMENT) {
    const rows = drafts
      .slice(start, start + ENTRIES_PER_STATEMENT)
      .map((draft) => ({ values: valuesOf(database, draft), names: namesOf(draft, written) }));
    const insert = database.kind === 'sqlite' ? insertOnSqlite : insertOnServer;
    inserts.push(insert(database, rows, transaction));
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

/** A name, or the record whose name is read as the entry is written. */
type Name = string | Named | null;

interface Row {
  readonly values: readonly (string | null)[];
  /** Of the record, of whose it is, and of the token. */
  readonly names: readonly Name[];
}

/** Names that drafts say themselves: a record may be gone at the end of its transaction. */
function namesWritten(drafts: readonly AuditDraft[]): ReadonlyMap<string, string> {
  return new Map(
    drafts.flatMap(({ recordId, name }) =>
      typeof name === 'string' ? [[recordId, name] as const] : [],
    ),
  );
}

function namesOf(
  { kind, recordId, name, owner, origin }: AuditDraft,
  written: ReadonlyMap<string, string>,
): Name[] {
  const table = NAMED_KINDS[kind];
  const record = name ?? (table === undefined ? null : { table, id: recordId });
  const token = origin.tokenId;
  const names = [
    record,
    owner ?? null,
    token === undefined ? null : ({ table: 'api_tokens', id: token } as const),
  ];
  return names.map((one) => {
    const text = one === null || typeof one === 'string' ? one : written.get(one.id);
    return text?.slice(0, NAME_CHARACTERS_MAX).toWellFormed() ?? one;
  });
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

/** INSERT … SELECT: there a server reads names without locks. */
async function insertOnServer(
  { sequelize }: Database,
  rows: readonly Row[],
  transaction: Transaction,
): Promise<void> {
  const replacements: (string | null)[] = [];
  const selects = rows.map(({ values, names }) => {
    replacements.push(...values);
    const columns = names.map((name) => {
      replacements.push(typeof name === 'object' && name !== null ? name.id : name);
      return typeof name === 'string' || name === null ? '?' : `(${nameSelect(name.table, '?')})`;
    });
    return `SELECT ${[...values.map(() => '?'), ...columns].join(', ')}`;
  });
  await sequelize.query(`INSERT INTO audit_entries (${COLUMNS}) ${selects.join(' UNION ALL ')}`, {
    replacements,
    type: QueryTypes.INSERT,
    transaction,
  });
}

/** One text for any number of rows stays prepared. */
async function insertOnSqlite(
  database: Database,
  rows: readonly Row[],
  transaction: Transaction,
): Promise<void> {
  const json = rows.map(({ values, names }) => [
    ...values,
    ...names.flatMap((name) =>
      typeof name === 'string' || name === null ? [name, null] : [name.id, name.table],
    ),
  ]);
  await database.sequelize.query(SQLITE_INSERT, {
    bind: { rows: JSON.stringify(json) },
    type: QueryTypes.INSERT,
    transaction,
  });
}

function sqliteInsert(): string {
  const columns = COLUMNS.split(', ');
  const plain = columns.length - NAMES;
  const selects = columns.map((_column, i) => {
    const place = i < plain ? i : plain + 2 * (i - plain);
    const text = `value ->> ${place}`;
    if (i < plain) return text;
    const cases = Object.keys(NAME_COLUMNS).map(
      (table) => `WHEN '${table}' THEN (${nameSelect(table as Named['table'], text)})`,
    );
    return `CASE value ->> ${place + 1} ${cases.join(' ')} ELSE ${text} END`;
  });
  return `INSERT INTO audit_entries (${COLUMNS}) SELECT ${selects.join(', ')} FROM json_each($rows)`;
}

function nameSelect(table: Named['table'], id: string): string {
  return `SELECT ${table}.${NAME_COLUMNS[table]} FROM ${table} WHERE ${table}.id = ${id}`;
}
