// What a session may undo: kept with the entries of the audit trail, found by that session alone
// while it is recent, and dropped when it is undone.

import test from 'ava';
import {
  dropUndo,
  findUndo,
  forgetUndos,
  keepUndo,
  newId,
  readEntriesOfRequest,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

for (const kind of databaseKinds())
  test(`${kind}: one session finds its change while it is recent, until it is dropped`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id: recordId } = await addUser(database);
    const [entry] = await database.models.AuditEntry.findAll({ where: { record_id: recordId } });
    const asked = { requestId: 'r', userId: recordId, since: new Date(0) };
    t.deepEqual(await readEntriesOfRequest(database, asked), [], 'no request wrote it');

    const sessionId = newId();
    const id = await keepUndo(database, { sessionId, entries: [String(entry?.id)] }, new Date(0));
    const find = (who: string, since: Date) =>
      write(database, (transaction) =>
        findUndo(database, { id, sessionId: who, since }, transaction),
      );
    t.deepEqual(
      (await find(sessionId, new Date(0)))?.map((one) => one.id),
      [entry?.id],
    );
    t.is(await find(newId(), new Date(0)), null, 'of another session');
    t.is(await find(sessionId, new Date(Date.now() + 60_000)), null, 'too late');
    await forgetUndos(database, new Date(0));
    t.is(await database.models.Undo.count(), 1);
    await write(database, (transaction) => dropUndo(database, id, transaction));
    t.is(await find(sessionId, new Date(0)), null, 'undone');
  });
