// How the audit trail is read: the newest entries that fit, however many there are. Each condition
// has an index that ends in the id, so its entries come in order, and so has each pair of who, kind
// and action. A search uses the index that fits the fewest entries, and tries further conditions on
// these entries, a part at a time, so that no statement takes long. docs/state.md#audit-trail.

import type { InferAttributes } from 'sequelize';
import { foldAscii } from '../storage/fold.ts';
import { plainSelect, type RowSource, selectRows } from '../storage/select.ts';
import type { AuditEntry } from '../tables/audit-entry.ts';
import { firstIdAt } from './audit-trail.ts';
import type { Database } from './database.ts';

/** Entries that one reading yields at most. */
const READ_MAX = 10_000;
/** Rows that one statement gives: the thread that takes them has other work too. */
const ROWS_PER_STATEMENT = 250;
/** Entries of an index that one statement looks at. */
const WINDOW = 2_000;
/**
 * Words for actors that do not sign in; `user` is everybody who does. No e-mail is one of these
 * words.
 */
const ACTORS: ReadonlySet<string> = new Set<AuditEntry['actor']>([
  'user',
  'command line',
  'gateway',
]);
/** Above every id. */
const NO_END = '~';

/** An entry as it is kept. */
export type AuditRow = InferAttributes<AuditEntry>;

const ENTRIES: RowSource<AuditRow> = {
  table: 'audit_entries',
  columns: {
    id: 'plain',
    happened_at: 'time',
    actor: 'plain',
    user_id: 'plain',
    email: 'plain',
    token_id: 'plain',
    action: 'plain',
    kind: 'plain',
    record_id: 'plain',
    changes: 'json',
    request_id: 'plain',
    address: 'plain',
    record_name: 'plain',
    owner_name: 'plain',
    token_name: 'plain',
  },
};

/** What to read of the trail. */
export interface AuditSelection {
  /** Entries from this time on. */
  readonly since?: Date;
  /** Entries from before this time. */
  readonly until?: Date;
  /** Entries that are older than this one. */
  readonly beforeId?: string;
  /** Entries of the person with this e-mail, in upper or lower case; or of this actor. */
  readonly who?: string;
  readonly action?: string;
  readonly kind?: string;
  readonly recordId?: string;
  /** As many of the newest; at most 10,000. */
  readonly limit: number;
}

/** The values that an entry must have. */
type Condition = 'record' | 'email' | 'actor' | 'kind' | 'action';
type Conditions = Readonly<Partial<Record<Condition, string>>>;

/** The ids that are wanted: `from` included, `end` not. */
interface Range {
  readonly from: string;
  readonly end: string;
}

/** An index, and the conditions whose columns it begins with. */
interface Lead {
  readonly index: string;
  readonly of: readonly Condition[];
}

/** Indexes that usually fit few entries are first. */
const LEADS: readonly Lead[] = [
  { index: 'audit_entries_record_id_id', of: ['record'] },
  { index: 'audit_entries_email_lower_id', of: ['email'] },
  { index: 'audit_entries_email_lower_kind_id', of: ['email', 'kind'] },
  { index: 'audit_entries_email_lower_action_id', of: ['email', 'action'] },
  { index: 'audit_entries_actor_kind_id', of: ['actor', 'kind'] },
  { index: 'audit_entries_actor_action_id', of: ['actor', 'action'] },
  { index: 'audit_entries_kind_action_id', of: ['kind', 'action'] },
  { index: 'audit_entries_action_id', of: ['action'] },
  { index: 'audit_entries_kind_id', of: ['kind'] },
  { index: 'audit_entries_actor_id', of: ['actor'] },
];

/** Reads the newest entries, the oldest of them first. */
export async function readAuditEntries(
  database: Database,
  selection: AuditSelection,
): Promise<AuditRow[]> {
  const limit = Math.min(selection.limit, READ_MAX);
  const range = rangeOf(selection);
  const found: AuditRow[] = [];
  for (const conditions of conditionsOf(selection))
    found.push(...(await readNewest(database, conditions, range, limit)));
  // One list is in order already; two forms of an e-mail give two lists.
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(-limit);
}

function rangeOf({ since, until, beforeId }: AuditSelection): Range {
  const ends = [until === undefined ? NO_END : firstIdAt(until), beforeId ?? NO_END];
  return {
    from: since === undefined ? '' : firstIdAt(since),
    end: ends.reduce((a, b) => (a < b ? a : b)),
  };
}

/** SQLite makes lower case of A to Z alone, MySQL of all letters: an e-mail may have two forms. */
function conditionsOf({ who, action, kind, recordId }: AuditSelection): Conditions[] {
  const rest = {
    ...(recordId === undefined ? {} : { record: recordId }),
    ...(kind === undefined ? {} : { kind }),
    ...(action === undefined ? {} : { action }),
  };
  if (who === undefined) return [rest];
  if (ACTORS.has(who)) return [{ actor: who, ...rest }];
  return [...new Set([foldAscii(who), who.toLowerCase()])].map((email) => ({ email, ...rest }));
}

/** Reads the newest entries that fit, the newest first. */
async function readNewest(
  database: Database,
  conditions: Conditions,
  range: Range,
  limit: number,
): Promise<AuditRow[]> {
  const lead = await chooseLead(database, conditions, range);
  const isAlone = Object.keys(conditions).length === (lead?.of.length ?? 0);
  const found: AuditRow[] = [];
  for (let end = range.end; found.length < limit;) {
    const from = isAlone ? null : await endOfWindow(database, conditions, lead, { ...range, end });
    const window = { from: from ?? range.from, end };
    const wanted = Math.min(limit - found.length, ROWS_PER_STATEMENT);
    const rows = await readRows(database, conditions, lead, window, wanted);
    for (const row of rows) found.push(row);
    if (rows.length === wanted) end = rows.at(-1)?.id ?? end;
    else if (from === null) break;
    else end = from;
  }
  return found;
}

/** The index of the conditions that fit the fewest entries; null: there are no conditions. */
async function chooseLead(
  database: Database,
  conditions: Conditions,
  range: Range,
): Promise<Lead | null> {
  const fit = LEADS.filter(({ of }) => of.every((one) => conditions[one] !== undefined));
  // An index of two conditions is better than those of either.
  const possible = fit.filter(
    ({ of }) =>
      !fit.some(
        (other) => other.of.length > of.length && of.every((one) => other.of.includes(one)),
      ),
  );
  let [best] = possible;
  if (best === undefined || possible.length === 1) return best ?? null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const lead of possible) {
    const count = await countUpTo(database, conditions, lead, range);
    if (count < fewest) [best, fewest] = [lead, count];
    if (count < ROWS_PER_STATEMENT) break;
  }
  return best;
}

/** How many entries an index leads to; no more than a window are counted. */
async function countUpTo(
  database: Database,
  conditions: Conditions,
  lead: Lead,
  range: Range,
): Promise<number> {
  const [row] = await inTurn(database, () =>
    database.sequelize.query<{ count: number }>(
      `SELECT COUNT(*) AS count FROM (
         SELECT id FROM audit_entries ${indexed(database, lead)}
         WHERE ${whereOf(database, lead.of)} ORDER BY id DESC LIMIT ${WINDOW}
       ) AS some_entries`,
      { ...plainSelect(), replacements: { ...conditions, ...range } },
    ),
  );
  return Number(row?.count ?? 0);
}

/** The last id of those at which one statement looks; null: it looks at all that are left. */
async function endOfWindow(
  database: Database,
  conditions: Conditions,
  lead: Lead | null,
  range: Range,
): Promise<string | null> {
  const [row] = await inTurn(database, () =>
    database.sequelize.query<{ id: string }>(
      `SELECT id FROM audit_entries ${indexed(database, lead)}
       WHERE ${whereOf(database, lead?.of ?? [])} ORDER BY id DESC LIMIT 1 OFFSET ${WINDOW - 1}`,
      { ...plainSelect(), replacements: { ...conditions, ...range } },
    ),
  );
  return row?.id ?? null;
}

function readRows(
  database: Database,
  conditions: Conditions,
  lead: Lead | null,
  range: Range,
  limit: number,
): Promise<AuditRow[]> {
  return inTurn(database, () =>
    selectRows(database, ENTRIES, {
      paged: false,
      index: indexed(database, lead),
      where: `WHERE ${whereOf(database, Object.keys(conditions) as Condition[])}`,
      order: 'ORDER BY id DESC',
      limit: 'LIMIT :limit',
      replacements: { ...conditions, ...range, limit },
      transaction: undefined,
    }),
  );
}

/**
 * Left alone, servers sort all that fits in place of following an index, and SQLite guesses which
 * index is short.
 */
function indexed({ kind }: Database, lead: Lead | null): string {
  if (kind === 'mysql') return `FORCE INDEX (${lead?.index ?? 'PRIMARY'})`;
  return lead === null ? '' : `INDEXED BY ${lead.index}`;
}

function whereOf({ kind }: Database, conditions: readonly Condition[]): string {
  const columns: Record<Condition, string> = {
    record: 'record_id',
    email: kind === 'sqlite' ? 'LOWER(email)' : 'email_lower',
    actor: 'actor',
    kind: 'kind',
    action: 'action',
  };
  return [...conditions.map((one) => `${columns[one]} = :${one}`), 'id >= :from', 'id < :end'].join(
    ' AND ',
  );
}

/** The last search that waits for its turn, for each SQLite file. */
const turns = new WeakMap<Database, Promise<unknown>>();

/**
 * Runs one statement after those that other searches asked for before it. SQLite works in one
 * thread: so a write waits there behind one statement of a search at most.
 */
function inTurn<T>(database: Database, read: () => Promise<T>): Promise<T> {
  if (database.kind !== 'sqlite') return read();
  const turn = (turns.get(database) ?? Promise.resolve()).then(read);
  turns.set(
    database,
    turn.catch(() => undefined),
  );
  return turn;
}
