// Puts the rows of a backup into a database: all of them, in one transaction, or nothing. A backup
// of an earlier schema is first restored into a temporary SQLite database and migrated there, as at
// an upgrade, because MySQL's own DDL could not be undone.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { QueryTypes, type Transaction } from 'sequelize';
import { connectDatabase } from '../database/connect.ts';
import { watchGateways } from '../queries/gateways.ts';
import { FOLDED, SECOND, withoutUnreleased } from '../migrations/before-release.ts';
import { DatabaseTooNewError, migrate, migrations, type Migration } from '../migrations/index.ts';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';
import { type Column, readCatalogue, type Table } from './catalogue.ts';
import { BackupError, type Header } from './format.ts';
import { readPages, verifyBackup } from './read.ts';
import { withSnapshot } from './snapshot.ts';
import { type SqlValue, sqlValueOf } from './values.ts';

/** How to restore. */
export interface RestoreOptions {
  /** Takes the place of what the database holds; else it must be empty. */
  readonly replace: boolean;
  /** A folder for a scratch database. */
  readonly scratch: string;
  /** Called when the backup was found good, before the content of the database is replaced. */
  readonly beforeReplacing?: () => Promise<void>;
  /** How long to look whether a gateway runs on the database. */
  readonly watchMs?: number;
  /** All steps; tests replace them. */
  readonly migrations?: readonly Migration[];
}

/** What a restore came to. */
export interface Restored {
  readonly rows: number;
  readonly made_at: string;
  /** The last migration that had run when the backup was made. */
  readonly schema: string;
  /** Ids of the keys that its values, and so those of the database, are sealed with. */
  readonly keys: readonly string[];
}

/** Rows of one table, on their way in. */
interface Pages {
  readonly rows: number;
  readonly read: () => AsyncIterable<{
    readonly table: { readonly name: string; readonly columns: readonly Column[] };
    readonly rows: readonly (readonly unknown[])[];
  }>;
}

/** Restores a backup into a database that no gateway uses. */
export async function restoreBackup(
  database: Database,
  path: string,
  options: RestoreOptions,
): Promise<Restored> {
  const { header, keys } = await verifyBackup(path, database.keyring);
  const known = options.migrations ?? migrations;
  const shape = shapeOf(header, known);
  await migrate(database, { migrations: known, checksKey: false });
  const isEmpty = await holdsNothing(database);
  if (!isEmpty && !options.replace)
    throw new BackupError(
      'The database is not empty, and nothing was changed. Restore into an empty one, or say ' +
        '--replace to give up all that it holds',
    );
  const assertUnused = await watchGateways(database, options.watchMs);
  if (!isEmpty) await options.beforeReplacing?.();
  const put = (pages: Pages): Promise<void> => replaceRows(database, pages, assertUnused);
  const rows = header.tables.reduce((sum, table) => sum + table.rows, 0);
  const file = { rows, read: () => readPages(path, database.keyring) };
  if (shape.ran.length === known.length) await put(file);
  else
    await withScratch(options.scratch, (scratch) =>
      throughScratch(scratch, { ...shape, known }, file, put),
    );
  return { rows, made_at: header.made_at, schema: header.schema.at(-1) ?? '', keys };
}

/** What the rows of a backup look like. */
interface Shape {
  /** The migrations that had run when the backup was made. */
  readonly ran: readonly Migration[];
  /**
   * The migrations that make room for the rows of the backup; one that had run only in part is
   * among them.
   */
  readonly room: readonly Migration[];
}

/** Reads which migrations had run when a backup was made; all of them must be known. */
function shapeOf(header: Header, known: readonly Migration[]): Shape {
  const schema = withoutUnreleased(header.schema);
  const isKnown = (name: string): boolean => known.some((step) => step.name === name);
  const later = schema.filter((name) => !isKnown(name) && !FOLDED.has(name));
  if (later.length > 0)
    throw new DatabaseTooNewError(
      `This backup was made by a later version of Postern (${later.join(', ')}); ` +
        'restore it with that version',
    );
  const ran = known.filter(({ name }) => schema.includes(name));
  const hasParts = schema.some((name) => FOLDED.has(name));
  const second = known.findIndex(({ name }) => name === SECOND) + 1;
  return { ran, room: hasParts ? known.slice(0, Math.max(ran.length, second)) : ran };
}

async function throughScratch(
  scratch: Database,
  { ran, room, known }: Shape & { readonly known: readonly Migration[] },
  file: Pages,
  put: (pages: Pages) => Promise<void>,
): Promise<void> {
  await migrate(scratch, { migrations: room, checksKey: false });
  await replaceRows(scratch, file, async () => undefined);
  // What it does to rows is still to be done.
  for (const { up } of room.slice(ran.length)) await up(scratch);
  await migrate(scratch, { migrations: known, checksKey: false });
  await withSnapshot(scratch, (snapshot) =>
    put({
      rows: snapshot.tables.reduce((sum, { count }) => sum + count, 0),
      read: () => snapshot.pages(),
    }),
  );
}

async function withScratch(folder: string, use: (scratch: Database) => Promise<void>) {
  const place = mkdtempSync(join(folder, 'restoring-'));
  try {
    // Nothing is sealed or opened here: the values pass through as they are.
    const url = `sqlite:${join(place, 'scratch.sqlite')}`;
    const scratch = await connectDatabase({ url, encryptionKey: randomBytes(32) });
    try {
      await use(scratch);
    } finally {
      await scratch.close();
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** Rows that a database has before anybody used it. */
const FIRST_ROWS: Readonly<Record<string, string>> = {
  scopes: '1 = 0',
  revisions: '1 = 0',
  changes: '1 = 0',
  audit_entries: '1 = 0',
  secrets: "name <> 'key_check'",
};

async function holdsNothing(database: Database): Promise<boolean> {
  for (const { name } of await readCatalogue(database)) {
    const [row] = await database.sequelize.query(
      `SELECT 1 AS found FROM ${name} WHERE ${FIRST_ROWS[name] ?? '1 = 1'} LIMIT 1`,
      plainSelect(),
    );
    if (row !== undefined) return false;
  }
  return true;
}

/** Deletes all rows and inserts others; `assertUnused` has the last word. */
async function replaceRows(
  database: Database,
  pages: Pages,
  assertUnused: () => Promise<void>,
): Promise<void> {
  const tables = await readCatalogue(database);
  await rerunOnConflict(database, () =>
    database.sequelize.transaction(async (transaction) => {
      for (const { name } of tables.toReversed())
        await database.sequelize.query(`DELETE FROM ${name}`, {
          type: QueryTypes.BULKDELETE,
          transaction,
        });
      let rows = 0;
      for await (const page of pages.read()) {
        const table = tables.find(({ name }) => name === page.table.name);
        if (table === undefined)
          throw new BackupError(`This backup has a table that is not known: ${page.table.name}`);
        await insertRows(database, { ...page, known: table }, transaction);
        rows += page.rows.length;
      }
      if (rows !== pages.rows) throw new BackupError('This backup changed while it was read');
      await assertUnused();
    }),
  );
}

async function insertRows(
  database: Database,
  page: {
    readonly known: Table;
    readonly table: { readonly columns: readonly Column[] };
    readonly rows: readonly (readonly unknown[])[];
  },
  transaction: Transaction,
): Promise<void> {
  const { name, columns: known } = page.known;
  const { columns } = page.table;
  const alien = columns.find(
    (column) => !known.some((one) => one.name === column.name && one.kind === column.kind),
  );
  if (alien !== undefined)
    throw new BackupError(`This backup has a column that is not known: ${name}.${alien.name}`);
  const rows = page.rows.map((row) =>
    columns.map((column, at): SqlValue => {
      const value = sqlValueOf(database.kind, column.kind, row[at]);
      if (value === undefined)
        throw new BackupError(`This backup is damaged: a ${name}.${column.name} is none`);
      return value;
    }),
  );
  const names = columns.map((column) => column.name).join(', ');
  if (database.kind === 'mysql') {
    await database.sequelize.query(`INSERT INTO ${name} (${names}) VALUES :rows`, {
      replacements: { rows },
      type: QueryTypes.INSERT,
      transaction,
    });
    return;
  }
  // One text for any number of rows stays prepared.
  const values = columns.map((_, at) => `value ->> '$[${at}]'`).join(', ');
  await database.sequelize.query(
    `INSERT INTO ${name} (${names}) SELECT ${values} FROM json_each($rows)`,
    { bind: { rows: JSON.stringify(rows) }, type: QueryTypes.INSERT, transaction },
  );
}
