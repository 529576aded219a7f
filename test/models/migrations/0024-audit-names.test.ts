// The columns for names of the audit trail: they are added once, and entries keep what they have.

import test from 'ava';
import { readAuditEntries } from '../../../models/index.ts';
import { up } from '../../../models/migrations/0024-audit-names.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../fixtures.ts';

for (const kind of databaseKinds())
  test(`${kind}: the columns may be added again, and keep what they have`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id, email } = await addUser(database);
    await up(database);
    const [entry] = await readAuditEntries(database, { recordId: id, limit: 1 });
    t.is(entry?.record_name, email);
    t.is(entry?.owner_name, null);
    t.is(entry?.token_name, null);
  });
