// What is old is forgotten by a clock of its own, which a wrong clock of a host moves by little.

import { DataTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { createTable } from './schema.ts';

const { BIGINT, STRING } = DataTypes;

/** Makes the table. */
export async function up(database: Database): Promise<void> {
  await createTable(database, 'forgetting', {
    columns: {
      name: { type: STRING(32), primaryKey: true, allowNull: false },
      clock_ms: { type: BIGINT, allowNull: false },
      ran_ms: { type: BIGINT, allowNull: false },
    },
  });
}
