// The content of a backup: the tables of a database in an order in which their rows can be
// inserted, and the kind of values in each column. It is read from the database itself, so that a
// database of an earlier schema is described correctly too.

import { readColumns } from '../migrations/schema.ts';
import { ENCRYPTED } from '../queries/key-rotation.ts';
import type { Database } from '../database/database.ts';
import { sealingKeyOf } from '../storage/encryption.ts';

/** What a value is, whichever database holds it. */
export type ValueKind = 'text' | 'integer' | 'bigint' | 'flag' | 'time';

/** A column of a table. */
export interface Column {
  readonly name: string;
  readonly kind: ValueKind;
}

/** A table of one database. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Names of the columns of its primary key. */
  readonly key: readonly string[];
}

/** All tables, owners before what is theirs. A new table goes where its references allow it. */
const TABLES = [
  'scopes',
  'changes',
  // Behind the changes, whose trigger on SQLite moves the number.
  'revisions',
  'configurations',
  'secrets',
  'users',
  'devices',
  'user_groups',
  'group_memberships',
  'rules',
  'policy_tests',
  'api_tokens',
  'identities',
  'identity_tokens',
  'sessions',
  'undos',
  'second_factors',
  'recovery_codes',
  'one_time_links',
  'sign_in_attempts',
  'sign_in_requests',
  'used_assertions',
  'trusted_providers',
  'saml_tests',
  'fetched_metadata',
  'gateways',
  'device_statuses',
  'device_traffic',
  'rule_traffic',
  'gateway_traffic',
  'refused_traffic',
  'connections',
  'quota_usage',
  'audit_entries',
] as const;

/**
 * How this one database came to its shape, which a backup says in its header, and the clock by
 * which it forgets.
 */
export const NOT_CARRIED: readonly string[] = ['migrations', 'leases', 'forgetting'];

const KINDS: readonly [RegExp, ValueKind][] = [
  [/^TINYINT\(1\)$/, 'flag'],
  [/^(TINYINT|INT|INTEGER)\b/, 'integer'],
  [/^BIGINT\b/, 'bigint'],
  [/^DATETIME\b/, 'time'],
  [/^(CHAR|VARCHAR|TEXT|LONGTEXT)\b/, 'text'],
];

/** Reads which tables a database has, and of what they are made. */
export async function readCatalogue(database: Database): Promise<Table[]> {
  const queries = database.sequelize.getQueryInterface();
  const present = new Set<unknown>(await queries.showAllTables());
  const tables: Table[] = [];
  for (const name of TABLES) {
    if (!present.has(name)) continue;
    const described = await readColumns(database, name);
    tables.push({
      name,
      columns: described.map((column) => ({
        name: column.name,
        kind: kindOf(column.type, `${name}.${column.name}`),
      })),
      key: described.filter(({ primaryKey }) => primaryKey).map((column) => column.name),
    });
  }
  return tables;
}

/** The ids of the keys that the encrypted values of some rows of a table are sealed with. */
export function sealingKeysIn(
  { name, columns }: Pick<Table, 'name' | 'columns'>,
  rows: readonly (readonly unknown[])[],
): Set<string> {
  const places = ENCRYPTED.filter(({ table }) => table === name).map(({ column }) =>
    columns.findIndex((one) => one.name === column),
  );
  const keys = places.flatMap((at) => rows.map((row) => sealingKeyOf(row[at])));
  return new Set(keys.filter((key) => key !== null));
}

function kindOf(type: string, place: string): ValueKind {
  const found = KINDS.find(([pattern]) => pattern.test(type.toUpperCase()));
  if (found === undefined) throw new Error(`A backup cannot carry ${place}, which is ${type}`);
  return found[1];
}
