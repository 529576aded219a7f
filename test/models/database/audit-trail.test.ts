// The entries themselves: read by time and number, forgotten by age.

import test from 'ava';
import {
  type AuditSelection,
  type Database,
  GATEWAY,
  pruneAuditEntries,
  readAuditEntries,
} from '../../../models/index.ts';
import { appendAuditEntries } from '../../../models/database/audit-trail.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { write } from '../fixtures.ts';

const idAt = (ms: number): string => {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
};

/** Entries of the given times; their record ids tell them apart. */
function append(database: Database, times: readonly number[]): Promise<void> {
  const drafts = times.map((ms) => ({
    id: idAt(ms),
    happenedAt: new Date(ms),
    origin: { actor: 'gateway' } as const,
    action: 'create' as const,
    kind: 'rule' as const,
    recordId: String(ms),
    changes: { destination: { to: "it's \\ :id $1 ?" } },
  }));
  return write(database, (transaction) => appendAuditEntries(database, drafts, transaction));
}

for (const kind of databaseKinds()) {
  test(`${kind}: the newest are read, the oldest of them first`, async (t) => {
    const database = await openDatabase(t, kind);
    const startMs = Date.UTC(2040, 0, 1);
    await append(database, [startMs, startMs + 1, startMs + 2]);
    const read = async (selection: { since?: Date; limit: number }): Promise<string[]> =>
      (await readAuditEntries(database, selection)).map(({ record_id }) => record_id);
    const [first, second, third] = [0, 1, 2].map((i) => String(startMs + i));
    t.deepEqual(await read({ limit: 2 }), [second, third]);
    const since = new Date(startMs);
    t.deepEqual(await read({ since, limit: 10 }), [first, second, third]);
    t.deepEqual(await read({ since: new Date(startMs + 1), limit: 10 }), [second, third]);
    t.deepEqual(await read({ since: new Date(startMs + 3), limit: 10 }), []);
    const [entry] = await readAuditEntries(database, { since, limit: 3 });
    t.deepEqual(entry?.happened_at, new Date(startMs));
    t.deepEqual(entry?.changes, { destination: { to: "it's \\ :id $1 ?" } });
  });

  test(`${kind}: entries are filtered by who, what, which record and when`, async (t) => {
    const database = await openDatabase(t, kind);
    const drafts = [
      { email: 'Ann@b.test', action: 'create', kind: 'rule', recordId: 'r1' },
      { email: 'bob@b.test', action: 'update', kind: 'rule', recordId: 'r1' },
      { email: 'bob@b.test', action: 'create', kind: 'user', recordId: 'u1' },
      { email: undefined, action: 'delete', kind: 'user', recordId: 'u1' },
    ].map(({ email, recordId, kind: what, action }, i) => ({
      id: idAt(i + 1),
      happenedAt: new Date(i + 1),
      origin: email === undefined ? GATEWAY : ({ actor: 'user', email } as const),
      action: action as 'create',
      kind: what as 'rule' | 'user',
      recordId,
      changes: {},
    }));
    await write(database, (transaction) => appendAuditEntries(database, drafts, transaction));
    const times = async (selection: Partial<AuditSelection>): Promise<number[]> =>
      (await readAuditEntries(database, { limit: 9, until: new Date(99), ...selection })).map(
        ({ happened_at }) => happened_at.getTime(),
      );
    t.deepEqual(await times({}), [1, 2, 3, 4]);
    t.deepEqual(await times({ who: 'ANN@B.TEST' }), [1]);
    t.deepEqual(await times({ who: 'gateway' }), [4]);
    t.deepEqual(await times({ who: "' OR 1=1" }), []);
    t.deepEqual(await times({ action: 'create' }), [1, 3]);
    t.deepEqual(await times({ kind: 'rule' }), [1, 2]);
    t.deepEqual(await times({ recordId: 'u1', action: 'delete' }), [4]);
    t.deepEqual(await times({ until: new Date(3) }), [1, 2]);
    t.deepEqual(await times({ since: new Date(2), until: new Date(4) }), [2, 3]);
    t.deepEqual(await times({ beforeId: idAt(3), limit: 1 }), [2]);
  });

  test(`${kind}: entries from before a time are forgotten, thousands too`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = new Date(Date.UTC(2020, 0, 1));
    const old = Array.from({ length: 2_300 }, (_, i) => before.getTime() - 1 - i);
    await append(database, [...old, before.getTime()]);
    const all = await database.models.AuditEntry.count();
    t.is(await pruneAuditEntries(database, before), 2_300);
    t.is(await database.models.AuditEntry.count(), all - 2_300);
    t.is(await pruneAuditEntries(database, before), 0);
    const [oldest] = await readAuditEntries(database, { limit: 10_000 });
    t.deepEqual(oldest?.happened_at, before);
  });

  test(`${kind}: entries go a hundred at a time, and others have a pause after each`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = new Date(Date.UTC(2020, 0, 1));
    await append(
      database,
      Array.from({ length: 450 }, (_, i) => before.getTime() - 1 - i),
    );
    const counts: number[] = [];
    const pauses: number[] = [];
    let deletedAt: number | null = null;
    let isDelete = false;
    database.sequelize.addHook('beforeQuery', (options) => {
      const { type } = options as { type?: string };
      if (deletedAt !== null) pauses.push(performance.now() - deletedAt);
      deletedAt = null;
      isDelete = type === 'BULKDELETE';
    });
    database.sequelize.addHook('afterQuery', () => {
      if (isDelete) deletedAt = performance.now();
    });
    let left = await database.models.AuditEntry.count();
    const stopAfter = async (deletes: number): Promise<void> => {
      let turns = 0;
      await pruneAuditEntries(database, before, () => (turns += 1) > deletes);
      const now = await database.models.AuditEntry.count();
      counts.push(left - now);
      left = now;
    };
    for (const deletes of [1, 1, 9]) await stopAfter(deletes);
    t.deepEqual(counts, [100, 100, 250]);
    // The counts come behind a pause too; timers may be a millisecond early.
    t.is(pauses.length, 5);
    for (const pause of pauses) t.true(pause >= 4, `${pause} ms`);
  });
}
