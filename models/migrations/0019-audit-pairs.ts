// Searches of the audit trail for who did something together with what was done: where both are
// frequent and hardly ever meet, an index of one of them leads to entries without end.

import type { Database } from '../database/database.ts';
import { addIndex } from './schema.ts';

const WHAT = ['kind', 'action'];

/** Adds an index for each pair; no row is written anew. */
export async function up(database: Database): Promise<void> {
  for (const what of WHAT) {
    if (database.kind === 'sqlite')
      await database.sequelize.query(
        `CREATE INDEX IF NOT EXISTS audit_entries_email_lower_${what}_id ON audit_entries (LOWER(email), ${what}, id)`,
      );
    else await addIndex(database, 'audit_entries', ['email_lower', what, 'id']);
    await addIndex(database, 'audit_entries', ['actor', what, 'id']);
  }
}
