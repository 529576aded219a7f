// Moving to another encryption key: every value that was sealed under an earlier key is sealed
// again under the present one. What the values say stays the same, so no change rows are written
// and no `updated_at` moves; gateways need not notice.

import { QueryTypes } from 'sequelize';
import type { Database } from './storage/database.ts';
import { CiphertextError } from './storage/encryption.ts';
import { rerunOnConflict } from './storage/rerun.ts';
import { plainSelect } from './storage/select.ts';

/** Rows that are read at once. */
const PAGE_ROWS = 500;

/** All encrypted columns, with the primary key that their values are bound to. */
const ENCRYPTED = [
  { table: 'devices', key: 'id', column: 'preshared_key' },
  { table: 'configurations', key: 'id', column: 'openid_connect_providers' },
  { table: 'second_factors', key: 'id', column: 'secret' },
  { table: 'secrets', key: 'name', column: 'value' },
  { table: 'identity_tokens', key: 'identity_id', column: 'tokens' },
  { table: 'sign_in_requests', key: 'id', column: 'secrets' },
] as const;

/** What a rotation came to. */
export interface Resealed {
  /** Values that are now under the present key. */
  resealed: number;
  /** Values that do not open under any key, as `table.column of id`. */
  broken: string[];
}

/**
 * Seals everything under the present key of a database that was opened with its earlier keys too.
 * May run while gateways serve, if they know both keys, and again after a crash.
 */
export async function resealSecrets(database: Database): Promise<Resealed> {
  const done: Resealed = { resealed: 0, broken: [] };
  for (const place of ENCRYPTED) {
    let page: { id: string; sealed: string }[];
    let after = '';
    do {
      page = await readPage(database, place, after);
      for (const { id, sealed } of page) await reseal(database, { ...place, id }, sealed, done);
      after = page.at(-1)?.id ?? after;
    } while (page.length === PAGE_ROWS);
  }
  return done;
}

type Encrypted = (typeof ENCRYPTED)[number];

function readPage(
  database: Database,
  { table, key, column }: Encrypted,
  after: string,
): Promise<{ id: string; sealed: string }[]> {
  return database.sequelize.query(
    `SELECT ${key} AS id, ${column} AS sealed FROM ${table}
     WHERE ${key} > :after AND ${column} IS NOT NULL ORDER BY ${key} LIMIT ${PAGE_ROWS}`,
    { ...plainSelect(), replacements: { after } },
  );
}

async function reseal(
  database: Database,
  place: Encrypted & { id: string },
  sealed: string,
  done: Resealed,
): Promise<void> {
  const { table, key, column, id } = place;
  if (database.keyring.isCurrent(sealed)) return;
  let value: string;
  try {
    value = database.keyring.seal(database.keyring.open(sealed, place), place);
  } catch (error) {
    if (!(error instanceof CiphertextError)) throw error;
    done.broken.push(`${table}.${column} of ${id}`);
    return;
  }
  // Only where the old value still stands: somebody may have set another one meanwhile.
  await rerunOnConflict(database, () =>
    database.sequelize.query(
      `UPDATE ${table} SET ${column} = :value WHERE ${key} = :id AND ${column} = :sealed`,
      { replacements: { value, id, sealed }, type: QueryTypes.UPDATE },
    ),
  );
  done.resealed += 1;
}
