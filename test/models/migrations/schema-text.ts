// The shape of a database as plain data, so that two databases can be compared.

import type { Database } from '../../../models/index.ts';
import { plainSelect } from '../../../models/storage/select.ts';

/**
 * Reads every table, column, index, foreign key and trigger, and the rows that are always there.
 */
export async function readSchema(database: Database): Promise<unknown> {
  const read = (sql: string) => database.sequelize.query<object>(sql, plainSelect());
  const rows = [
    await read('SELECT * FROM scopes ORDER BY name'),
    await read('SELECT * FROM revisions'),
    await read('SELECT name FROM migrations ORDER BY name'),
  ];
  if (database.kind === 'sqlite')
    return [await read('SELECT name, sql FROM sqlite_master ORDER BY name'), rows];
  const here = 'TABLE_SCHEMA = DATABASE()';
  return [
    await read(
      `SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLLATION_NAME
       FROM information_schema.COLUMNS WHERE ${here} ORDER BY TABLE_NAME, ORDINAL_POSITION`,
    ),
    await read(
      `SELECT TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE
       FROM information_schema.STATISTICS WHERE ${here}
       ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX`,
    ),
    await read(
      `SELECT TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
       FROM information_schema.KEY_COLUMN_USAGE
       WHERE ${here} AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY TABLE_NAME, COLUMN_NAME`,
    ),
    rows,
  ];
}
