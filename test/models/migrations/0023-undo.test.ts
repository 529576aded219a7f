// The table of what can be undone: it is made once, and keeps what it has.

import test from 'ava';
import { up } from '../../../models/migrations/0023-undo.ts';
import { keepUndo } from '../../../models/queries/undos.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: the table may be made again, and keeps what it has`, async (t) => {
    const database = await openDatabase(t, kind);
    const sessionId = '00000000-0000-4000-8000-000000000000';
    const id = await keepUndo(database, { sessionId, entries: ['a', 'b'] }, new Date(0));
    await up(database);
    const row = await database.models.Undo.findByPk(id);
    t.deepEqual(row?.entries, ['a', 'b']);
    await keepUndo(database, { sessionId, entries: [] }, new Date(Date.now() + 1_000));
    t.is(await database.models.Undo.count(), 1, 'what is too old is forgotten');
  });
