// Which gateways are on a database that is about to be migrated. They are read from the table as it
// is before the migration, whichever version made it.

import type { Database } from '../database/database.ts';
import { type ColumnKind, type RowSource, selectRows } from '../storage/select.ts';

/** A gateway on a database that is not migrated yet. */
export interface GatewayBeside {
  readonly id: string;
  readonly name: string;
  readonly seen_at: Date;
  /** The last step that it knows; null: its version does not say it, nor look for later ones. */
  readonly schema_step: string | null;
}

/** Reads all of them, those that have stopped too. */
export async function readGatewaysBeside(database: Database): Promise<GatewayBeside[]> {
  const present = await database.sequelize.getQueryInterface().describeTable('gateways');
  const saysSchema = Object.hasOwn(present, 'schema_step');
  const columns: Record<string, ColumnKind> = { id: 'plain', name: 'plain', seen_at: 'time' };
  const source = {
    table: 'gateways',
    columns: saysSchema ? { ...columns, schema_step: 'plain' } : columns,
  } as RowSource<GatewayBeside>;
  const rows = await selectRows(database, source, {
    paged: false,
    where: '',
    order: 'ORDER BY id',
    limit: '',
    replacements: {},
    transaction: undefined,
  });
  return rows.map((row) => ({ ...row, schema_step: row.schema_step ?? null }));
}
