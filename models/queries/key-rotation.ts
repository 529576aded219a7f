// Moving to another encryption key: every value that was sealed under an earlier key is sealed
// again under the present one. The values themselves stay the same, so no change rows are written
// and no `updated_at` moves; gateways need not notice.

import { QueryTypes } from 'sequelize';
import { KEY_CHECK_NAME } from './secrets.ts';
import type { Database } from '../database/database.ts';
import { configurationFields } from '../fields/configuration.ts';
import { deviceFields } from '../fields/device.ts';
import { type Fields, sealedColumns } from '../fields/field.ts';
import { CiphertextError, EncryptionKeyError, sealingKeyOf } from '../storage/encryption.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { plainSelect } from '../storage/select.ts';

/** Rows that are read, and sealed in one transaction. */
const PAGE_ROWS = 500;

/** All encrypted columns, with the primary key that their values are bound to. */
export const ENCRYPTED: readonly Encrypted[] = [
  ...sealedIn('devices', deviceFields),
  ...sealedIn('configurations', configurationFields),
  { table: 'second_factors', key: 'id', column: 'secret' },
  { table: 'identity_tokens', key: 'identity_id', column: 'tokens' },
  { table: 'sign_in_requests', key: 'id', column: 'secrets' },
  { table: 'secrets', key: 'name', column: 'value' },
];

/** An encrypted column, and the primary key of its table. */
interface Encrypted {
  readonly table: string;
  readonly key: string;
  readonly column: string;
}

function sealedIn<Table extends Fields>(table: string, fields: Table): Encrypted[] {
  return sealedColumns(fields).map((column) => ({ table, key: 'id', column }));
}

/** What a rotation came to. */
export interface Resealed {
  /** Values that are now under the present key. */
  resealed: number;
  /** Values that open under none of the keys that are known, as `table.column of id`. */
  broken: string[];
}

/**
 * Seals everything under the present key of a database that was opened with its earlier keys too.
 * May run while gateways serve, if they know both keys, and again after a crash. The key check
 * comes last, so that no start without the earlier key goes well before all is done.
 */
export async function resealSecrets(
  database: Database,
  onProgress: (resealed: number) => void = () => undefined,
): Promise<Resealed> {
  const done: Resealed = { resealed: 0, broken: [] };
  for (const place of ENCRYPTED) {
    let page: Row[];
    let after = '';
    do {
      page = await readPage(database, place, after);
      const rows = page.filter(({ id }) => place.table !== 'secrets' || id !== KEY_CHECK_NAME);
      if (await resealPage(database, place, rows, done)) onProgress(done.resealed);
      after = page.at(-1)?.id ?? after;
    } while (page.length === PAGE_ROWS);
  }
  const place = ENCRYPTED[ENCRYPTED.length - 1] as Encrypted;
  const secrets = await readPage(database, place, '');
  const keyCheck = secrets.filter(({ id }) => id === KEY_CHECK_NAME);
  await resealPage(database, place, keyCheck, done);
  return done;
}

/** What a sealed value begins with: its format and the id of its key. */
const HEAD_CHARACTERS = '1:01234567:'.length;

/** Reads the ids of the keys that the values of a database are sealed with. */
export async function readSealingKeys(database: Database): Promise<string[]> {
  const keys = new Set<string>();
  for (const { table, column } of ENCRYPTED) {
    const rows = await database.sequelize.query<{ head: string | null }>(
      `SELECT DISTINCT substr(${column}, 1, ${HEAD_CHARACTERS}) AS head FROM ${table}`,
      plainSelect(),
    );
    for (const { head } of rows) {
      const key = sealingKeyOf(head);
      if (key !== null) keys.add(key);
    }
  }
  return [...keys].toSorted();
}

/** A value and the record that it belongs to. */
interface Row {
  id: string;
  sealed: string;
}

function readPage(
  database: Database,
  { table, key, column }: Encrypted,
  after: string,
): Promise<Row[]> {
  return database.sequelize.query(
    `SELECT ${key} AS id, ${column} AS sealed FROM ${table}
     WHERE ${key} > :after AND ${column} IS NOT NULL ORDER BY ${key} LIMIT ${PAGE_ROWS}`,
    { ...plainSelect(), replacements: { after } },
  );
}

/** Seals the values of a page, in one transaction; false when there was nothing to do. */
async function resealPage(
  database: Database,
  place: Encrypted,
  rows: readonly Row[],
  done: Resealed,
): Promise<boolean> {
  const { table, key, column } = place;
  const values = rows
    .filter(({ sealed }) => !database.keyring.isCurrent(sealed))
    .map((row) => ({ ...row, value: resealed(database, { ...place, id: row.id }, row.sealed) }));
  const broken = values.filter(({ value }) => value === null);
  done.broken.push(...broken.map(({ id }) => `${table}.${column} of ${id}`));
  const good = values.filter(({ value }) => value !== null);
  if (good.length === 0) return false;
  await rerunOnConflict(database, () =>
    database.sequelize.transaction(async (transaction) => {
      // Only where the old value is still there: somebody may have set another one meanwhile.
      for (const bind of good)
        await database.sequelize.query(
          `UPDATE ${table} SET ${column} = $value WHERE ${key} = $id AND ${column} = $sealed`,
          { bind, type: QueryTypes.UPDATE, transaction },
        );
    }),
  );
  done.resealed += good.length;
  return true;
}

/** A value under the present key; null when it opens under none. */
function resealed(
  { keyring }: Database,
  place: Encrypted & { id: string },
  sealed: string,
): string | null {
  try {
    return keyring.seal(keyring.open(sealed, place), place);
  } catch (error) {
    if (!(error instanceof CiphertextError || error instanceof EncryptionKeyError)) throw error;
    return null;
  }
}
