// Reads tables of a SQLite file that another program wrote, for imports. The file itself stays as
// it is: what is opened is a private copy, with the write-ahead log that lies beside it. Nothing in
// it is trusted: tables of modules, whose code would run, are refused before any is read.

import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteConnection } from './sqlite-connection.ts';
import { makeMemoryFolder } from './sqlite.ts';

/** The copy is in memory; nobody has so many clients. */
const BYTES_MAX = 64 * 1024 * 1024;
/** Files beside a database that belong to it. */
const SIDES = ['-wal', '-journal'];
/** Nothing is trusted; what its tables say in double quotes may be text. */
const FOREIGN = { defensive: true, enableDoubleQuotedStringLiterals: true };
const PRAGMAS = ['trusted_schema = OFF', 'cell_size_check = ON', 'query_only = ON'];

/** A row, its columns by name. */
export type ForeignRow = Readonly<Record<string, unknown>>;

/** Tables of a file. */
export interface ForeignTables {
  /** By their names; one that does not exist is left out. */
  readonly tables: ReadonlyMap<string, readonly ForeignRow[]>;
  /** True: the file needs a write-ahead log to be whole, and there is none beside it. */
  readonly lacksLog: boolean;
}

/** What a file of SQLite begins with. */
export const SQLITE_MARK = Buffer.from('SQLite format 3\0');

/** Reads whole tables; throws with a sentence when the file cannot be read. */
export async function readForeignTables(
  path: string,
  names: readonly string[],
): Promise<ForeignTables> {
  const bytes = [path, ...SIDES.map((side) => path + side)]
    .filter((one) => existsSync(one))
    .reduce((sum, one) => sum + statSync(one).size, 0);
  if (bytes > BYTES_MAX)
    throw new Error(`${path} has ${bytes} bytes; at most ${BYTES_MAX} are read`);
  const folder = makeMemoryFolder();
  try {
    const copy = join(folder, 'foreign.sqlite');
    copyFileSync(path, copy);
    for (const side of SIDES) if (existsSync(path + side)) copyFileSync(path + side, copy + side);
    const lacksLog = !existsSync(`${copy}-wal`);
    const { tables, isLogged } = await readCopy(copy, names);
    return { tables, lacksLog: lacksLog && isLogged };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${path} cannot be read as a database of SQLite: ${why}`, { cause: error });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function readCopy(copy: string, names: readonly string[]) {
  const connection = await SqliteConnection.open(copy, PRAGMAS, undefined, FOREIGN);
  try {
    const all = async (sql: string): Promise<ForeignRow[]> => {
      const { error, rows } = await connection.execute('all', sql, []);
      if (error !== null) throw error;
      return rows as ForeignRow[];
    };
    const schema = await all('SELECT type, name, rootpage FROM sqlite_schema');
    const module = schema.find(({ type, rootpage }) => type === 'table' && !(Number(rootpage) > 0));
    if (module !== undefined)
      throw new Error(`its table ${String(module['name'])} is a virtual one`);
    const [check = {}] = await all('PRAGMA quick_check(1)');
    const found = String(Object.values(check)[0]);
    if (found !== 'ok') throw new Error(`it is damaged (${found}); copy it again`);
    const tables = new Map<string, readonly ForeignRow[]>();
    for (const name of names)
      if (schema.some((one) => one['type'] === 'table' && one['name'] === name))
        tables.set(name, await all(`SELECT * FROM "${name.replaceAll('"', '""')}"`));
    const [mode = {}] = await all('PRAGMA journal_mode');
    return { tables, isLogged: Object.values(mode)[0] === 'wal' };
  } finally {
    await connection.close();
  }
}
