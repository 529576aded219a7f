// What tests of SAML entries found: the last one of an entry, while its metadata stay.

import test from 'ava';
import {
  type Database,
  findSamlTest,
  keepSamlTest,
  type SignedParts,
  writeTransaction,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const HASH = 'a'.repeat(64);
const tested_at = new Date('2026-11-23T12:00:00Z');

async function keep(
  database: Database,
  signed: SignedParts,
  metadata_sha256 = HASH,
): Promise<void> {
  const found = { provider_id: 'adfs', metadata_sha256, signed, tested_at };
  await writeTransaction(database, (transaction) => keepSamlTest(database, found, transaction));
}

for (const kind of databaseKinds())
  test(`${kind}: the last test of an entry is found, while its metadata stay`, async (t) => {
    const database = await openDatabase(t, kind);
    t.is(await findSamlTest(database, 'adfs', HASH), null);
    await keep(database, 'both');
    await keep(database, 'assertion');
    t.like(await findSamlTest(database, 'adfs', HASH), { signed: 'assertion', tested_at });
    const other = 'b'.repeat(64);
    t.is(await findSamlTest(database, 'adfs', other), null, 'other metadata');
    t.is(await findSamlTest(database, 'other', HASH), null, 'another entry');
    await keep(database, 'response', other);
    t.is(await findSamlTest(database, 'adfs', HASH), null, 'one row for each entry');
  });
