// The history of devices and rules loses its foreign keys, which deleted all of it in the statement
// that removed a device. Now models/queries/removed-history.ts does so, in small steps.

import { QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';

/** The tables, and the text of the foreign key on SQLite as the second step made it. */
const TABLES = [
  ['device_traffic', ', FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE'],
  ['rule_traffic', ', FOREIGN KEY (rule_id) REFERENCES rules (id) ON DELETE CASCADE'],
  ['connections', ' REFERENCES `devices` (`id`) ON DELETE CASCADE'],
] as const;

/** Takes the keys away; no row is written anew, however many there are. */
export async function up(database: Database): Promise<void> {
  if (database.kind === 'sqlite') await onSqlite(database);
  else for (const [table] of TABLES) await onServer(database, table);
}

/**
 * SQLite has no statement for it. Its documents give this way for foreign keys, which are not in
 * the rows: https://www.sqlite.org/lang_altertable.html, section 7.
 */
async function onSqlite({ sequelize }: Database): Promise<void> {
  await sequelize.transaction(async (transaction) => {
    const [row] = await sequelize.query<{ schema_version: number }>('PRAGMA schema_version', {
      type: QueryTypes.SELECT,
      transaction,
    });
    await sequelize.query('PRAGMA writable_schema = ON', { transaction });
    try {
      for (const [table, key] of TABLES)
        await sequelize.query(
          `UPDATE sqlite_master SET sql = replace(sql, :key, '')
           WHERE type = 'table' AND name = :table`,
          { replacements: { key, table }, transaction },
        );
      // So every connection reads the schema anew, this one too.
      const next = Number(row?.schema_version) + 1;
      await sequelize.query(`PRAGMA schema_version = ${next}`, { transaction });
    } finally {
      await sequelize.query('PRAGMA writable_schema = RESET', { transaction });
    }
  });
}

async function onServer({ sequelize }: Database, table: string): Promise<void> {
  const keys = await sequelize.query<{ name: string }>(
    `SELECT CONSTRAINT_NAME AS name FROM information_schema.TABLE_CONSTRAINTS
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = :table AND CONSTRAINT_TYPE = 'FOREIGN KEY'`,
    { ...plainSelect(), replacements: { table } },
  );
  for (const { name } of keys)
    await sequelize.query(`ALTER TABLE ${table} DROP FOREIGN KEY \`${name}\``);
}
