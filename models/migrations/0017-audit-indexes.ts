// The audit trail is searched by indexes that end in the id. E-mails are found in any case: by an
// index of an expression on SQLite, and of a column that is computed and not kept on MySQL.

import type { Database } from '../database/database.ts';
import { addComputedColumn, addIndex } from './schema.ts';

const INDEXES = [
  ['record_id', 'id'],
  ['actor', 'id'],
  ['kind', 'action', 'id'],
  ['kind', 'id'],
  ['action', 'id'],
];

/** Adds the indexes; no row is written anew. */
export async function up(database: Database): Promise<void> {
  if (database.kind === 'sqlite') {
    await database.sequelize.query(
      `CREATE INDEX IF NOT EXISTS audit_entries_email_lower_id ON audit_entries (LOWER(email), id)`,
    );
  } else {
    const column = 'VARCHAR(255) GENERATED ALWAYS AS (LOWER(email)) VIRTUAL';
    await addComputedColumn(database, 'audit_entries', 'email_lower', column);
    await addIndex(database, 'audit_entries', ['email_lower', 'id']);
  }
  for (const fields of INDEXES) await addIndex(database, 'audit_entries', fields);
}
