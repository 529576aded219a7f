// A database with rows in every table and with values that are easily lost on the way: numbers
// beyond JavaScript's, quotes, backslashes, letters outside the basic plane, nothing at all. And
// two ways to look at all of it.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { QueryTypes } from 'sequelize';
import { type Database, newId, writeBackup } from '../../../models/index.ts';
import { readCatalogue } from '../../../models/backup/catalogue.ts';
import { readColumns } from '../../../models/migrations/schema.ts';
import { ENCRYPTED } from '../../../models/queries/key-rotation.ts';
import { plainSelect } from '../../../models/storage/select.ts';

const ROWS = 3;
const REFERENCES: Record<string, string> = {
  user_id: 'users',
  device_id: 'devices',
  rule_id: 'rules',
  group_id: 'user_groups',
  identity_id: 'identities',
};

/** Lists that the models read as JSON. */
const JSON_LISTS = new Set(['allowed_ips', 'dns', 'routes']);

/** Makes rows in every table; what is in them is the same for all databases of one schema. */
export async function fillDatabase(database: Database): Promise<void> {
  const ids = new Map<string, string[]>();
  for (const { name, columns, key } of await readCatalogue(database)) {
    if (name === 'scopes' || name === 'revisions') continue;
    const described = await readColumns(database, name);
    for (let i = 0; i < ROWS; i += 1) {
      const row: Record<string, string | number | null> = {};
      for (const column of columns) {
        const referred = ids.get(REFERENCES[column.name] ?? '')?.[i];
        const isNull =
          described.find((one) => one.name === column.name)?.allowNull === true && i === 1;
        if (referred !== undefined) row[column.name] = referred;
        else if (isNull) row[column.name] = null;
        else if (column.name === 'id') row[column.name] = newId();
        else if (JSON_LISTS.has(column.name)) row[column.name] = JSON.stringify([`é"${i}`]);
        else row[column.name] = valueFor(database, column.kind, i);
      }
      const id = String(row[key[0] ?? '']);
      for (const { table, column } of ENCRYPTED)
        if (table === name && row[column] !== null && column in row)
          row[column] = database.keyring.seal(`secret ${i}`, { table, column, id });
      ids.set(name, [...(ids.get(name) ?? []), id]);
      await insert(database, name, row);
    }
  }
}

function valueFor(database: Database, kind: string, i: number): string | number {
  switch (kind) {
    case 'integer':
      return i === 0 ? -7 : i;
    case 'bigint':
      return ['9223372036854775807', '9007199254740993', '0'][i] as string;
    case 'flag':
      return i % 2;
    case 'time':
      return `2026-11-2${i} 08:09:10.00${i}${database.kind === 'sqlite' ? ' +00:00' : '000'}`;
    default:
      return `é'"\\😀\n${i}`;
  }
}

async function insert(
  database: Database,
  table: string,
  row: Record<string, string | number | null>,
): Promise<void> {
  await database.sequelize.query(
    `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (:values)`,
    { replacements: { values: Object.values(row) }, type: QueryTypes.INSERT },
  );
}

/** Everything that a database holds, as the driver gives it: to be compared on one kind. */
export async function rawRows(database: Database): Promise<Record<string, unknown[]>> {
  const all: Record<string, unknown[]> = {};
  for (const { name, columns, key } of await readCatalogue(database)) {
    const texts = columns.map((column) =>
      column.kind === 'bigint'
        ? `CAST(${column.name} AS ${database.kind === 'sqlite' ? 'TEXT' : 'CHAR'}) AS ${column.name}`
        : column.name,
    );
    all[name] = await database.sequelize.query(
      `SELECT ${texts.join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`,
      plainSelect(),
    );
  }
  return all;
}

/** Writes a backup into a file that goes with the test. */
export async function backupFile(t: ExecutionContext, database: Database): Promise<string> {
  const path = join(scratchFolder(t), 'postern.backup');
  const { writeNewFile } = await import('../../../lib/installation/backups/file.ts');
  await writeNewFile(path, (out) => writeBackup(database, out));
  return path;
}

/** The tables of a backup with the lines of their rows, whoever made it and when. */
export function linesByTable(path: string): Record<string, string[]> {
  const [header = '', ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n');
  const { tables } = JSON.parse(header) as { tables: { name: string; rows: number }[] };
  return Object.fromEntries(tables.map(({ name, rows: count }) => [name, rows.splice(0, count)]));
}

/** A folder that goes with the test. */
export function scratchFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-backup-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
