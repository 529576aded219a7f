// A write that is undone is checked and written as every write is, is looked at, and leaves
// nothing.

import test from 'ava';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import type { Caller } from '../../../../lib/kit/process/caller.ts';
import { UndoneWrites } from '../../../../lib/kit/records/undone-writes.ts';
import { currentRevision, readAuditEntries } from '../../../../models/index.ts';
import { someCaller } from '../../../support/api/caller.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const ann: Caller = {
  ...someCaller(),
  origin: { actor: 'user', userId: 'u1', email: 'ann@example.com' },
};

for (const kind of databaseKinds()) {
  test(`${kind}: a write is looked at and undone`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Rule } = database.models;
    const before = await currentRevision(database);
    const writes = new UndoneWrites(database, async (transaction, { changes, audit }) => ({
      rules: await Rule.count({ transaction }),
      changes: changes.map(({ table }) => table),
      by: audit.map(({ origin }) => origin.email),
    }));
    t.is(writes.seen, null);
    const destination = await writes.run(ann, {
      scopes: { configuration: true },
      check: async () => '10.0.0.1',
      write: async (transaction, to) =>
        (await Rule.create({ destination: to }, { transaction })).destination,
    });
    t.is(destination, '10.0.0.1');
    t.deepEqual(writes.seen, { rules: 1, changes: ['rules'], by: ['ann@example.com'] });
    t.is(await Rule.count(), 0);
    t.is(await currentRevision(database), before);
    const audited = await readAuditEntries(database, { limit: 10 });
    t.false(audited.some((entry) => entry.kind === 'rule'));
    t.is(ann.revision, null, 'nobody waits for it');
  });

  test(`${kind}: a write that is refused is not looked at`, async (t) => {
    const database = await openDatabase(t, kind);
    const writes = new UndoneWrites(database, async () => 'seen');
    const refused = {
      check: async () => {
        throw new ApiError('not_found');
      },
      write: async () => 'written',
    };
    await t.throwsAsync(writes.run(ann, refused), { message: 'not_found' });
    t.is(writes.seen, null);
  });
}
