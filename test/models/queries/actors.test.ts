// Tokens and sessions are read, with their users, as they are when a transaction writes.

import test from 'ava';
import { lockSessions, lockTokens, writeTransaction } from '../../../models/index.ts';
import { createToken } from '../../../lib/auth/tokens.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addPerson } from '../../support/web/visitor.ts';

for (const kind of databaseKinds())
  test(`${kind}: what is there is read with its user, and what is gone is left out`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addPerson(database, 'a@example.com', { role: 'admin' });
    const { id } = await createToken(database, { email: 'a@example.com', name: 'a' });
    const now = new Date();
    const session = await database.models.Session.create({
      user_id: user.id,
      sha256: '0'.repeat(64),
      state: 'open',
      method: 'email',
      inserted_at: now,
      seen_at: now,
    });
    const gone = '00000000-0000-0000-0000-000000000000';
    await writeTransaction(database, async (transaction) => {
      const tokens = await lockTokens(database, [id, gone], transaction);
      t.deepEqual(
        tokens.map((token) => [token.id, token.user.role, token.user.disabled_at]),
        [[id, 'admin', null]],
      );
      const sessions = await lockSessions(database, [session.id, gone], transaction);
      t.deepEqual(
        sessions.map((one) => [one.id, one.state, one.user.id]),
        [[session.id, 'open', user.id]],
      );
      t.deepEqual(await lockTokens(database, [], transaction), []);
      t.deepEqual(await lockSessions(database, [], transaction), []);
    });
  });
