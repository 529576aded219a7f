// Counts of attempts by their hashes, however many are asked for.

import test from 'ava';
import { readAttemptCounts } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: counts are found under their hashes, also among more than one statement names`, async (t) => {
    const database = await openDatabase(t, kind);
    const hashes = Array.from({ length: 1_001 }, (_, i) => String(i).padStart(64, '0'));
    const expires_at = new Date('2026-11-30T12:00:00.500Z');
    const wanted = [3, 499, 500, 1_000].map((i) => ({
      sha256: hashes[i] ?? '',
      kind: i === 3 ? ('code' as const) : ('account' as const),
      count: i,
      expires_at,
    }));
    await database.models.SignInAttempt.bulkCreate([
      ...wanted,
      { sha256: 'f'.repeat(64), kind: 'account', count: 1, expires_at },
    ]);
    const found = await readAttemptCounts(database, hashes);
    const inOrder = found.toSorted((a, b) => a.count - b.count);
    t.deepEqual(
      inOrder.map((one) => ({ ...one })),
      wanted,
    );
    t.deepEqual(await readAttemptCounts(database, []), []);
  });
