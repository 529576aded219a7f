// A later version that migrates the database of a running test: its step is one that only the test
// has. What it adds is a restriction that the code of now cannot know.

import type { ExecutionContext } from 'ava';
import { type Database, migrate } from '../../../models/index.ts';
import { type Migration, migrations } from '../../../models/migrations/index.ts';
import { addColumn } from '../../../models/migrations/schema.ts';
import { openAt, type Place } from './databases.ts';

/** Rules that the later version alone understands: they hold for some hours of the day. */
export const LATER_STEP: Migration = {
  name: '9999-later',
  up: (database) =>
    addColumn(database, 'rules', 'later_hours', { type: 'VARCHAR(16)', allowNull: true }),
};

/** Migrates the database at a place as the later version does; that version's own connection. */
export async function migrateLater(t: ExecutionContext, place: Place): Promise<Database> {
  const later = await openAt(t, place);
  await migrate(later, { migrations: [...migrations, LATER_STEP] });
  return later;
}
