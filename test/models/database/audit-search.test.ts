// How the audit trail is searched: by any conditions together, and never by looking at all of it.

import test from 'ava';
import type { QueryOptions } from 'sequelize';
import {
  type AuditSelection,
  type Database,
  pruneAuditEntries,
  readAuditEntries,
} from '../../../models/index.ts';
import { appendAuditEntries } from '../../../models/database/audit-trail.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { write } from '../fixtures.ts';

const START_MS = Date.UTC(2030, 0, 1);
/** More than one statement looks at. */
const COUNT = 5_200;
/** One change of Ann that nobody else made, far behind the others. */
const RARE = 40;

const idAt = (i: number): string => {
  const hex = (START_MS + i).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
};

interface Made {
  readonly id: string;
  readonly actor: string;
  readonly email: string | null;
  readonly action: string;
  readonly kind: string;
  readonly record_id: string;
}

const MADE = Array.from({ length: COUNT }, (_, i): Made => {
  const isAnn = i % 2 === 0;
  return {
    id: idAt(i),
    actor: i % 5 === 4 ? 'gateway' : 'user',
    email: i % 5 === 4 ? null : isAnn ? 'Ann@b.test' : 'bob@b.test',
    action: isAnn && i !== RARE ? 'update' : 'delete',
    kind: i % 3 === 0 ? 'device' : 'rule',
    record_id: `r${i % 7}`,
  };
});

/** Entries of two people and the gateway: Ann changes, Bob deletes, once Ann does. */
async function fill(database: Database): Promise<void> {
  const drafts = MADE.map(({ id, email, action, kind, record_id: recordId }, i) => ({
    id,
    happenedAt: new Date(START_MS + i),
    origin: email === null ? ({ actor: 'gateway' } as const) : ({ actor: 'user', email } as const),
    action: action as 'update' | 'delete',
    kind: kind as 'device' | 'rule',
    recordId,
    changes: {},
  }));
  await write(database, (transaction) => appendAuditEntries(database, drafts, transaction));
}

/** All sets of conditions, found and not found. */
function* combinations(): Generator<Omit<AuditSelection, 'limit'>> {
  for (const who of [undefined, 'ANN@b.test', 'gateway', 'nobody@b.test'])
    for (const action of [undefined, 'delete', 'sign in'])
      for (const kind of [undefined, 'device', 'user'])
        for (const recordId of [undefined, 'r3', 'none'])
          for (const since of [new Date(START_MS), new Date(START_MS + 30)])
            yield {
              until: new Date(START_MS + COUNT - 60),
              ...(who === undefined ? {} : { who }),
              ...(action === undefined ? {} : { action }),
              ...(kind === undefined ? {} : { kind }),
              ...(recordId === undefined ? {} : { recordId }),
              since,
            };
}

function expected({ who, action, kind, recordId, since, until }: AuditSelection): string[] {
  const [from, end] = [since?.getTime() ?? 0, until?.getTime() ?? Infinity];
  return MADE.filter(
    (entry, i) =>
      START_MS + i >= from &&
      START_MS + i < end &&
      (who === undefined ||
        entry.actor === who ||
        entry.email?.toLowerCase() === who.toLowerCase()) &&
      (action === undefined || entry.action === action) &&
      (kind === undefined || entry.kind === kind) &&
      (recordId === undefined || entry.record_id === recordId),
  ).map(({ id }) => id);
}

/** The statements that `work` sends, each once, with what goes into it; and how many there were. */
async function statementsOf(
  { sequelize }: Database,
  work: () => Promise<unknown>,
): Promise<{ sent: Map<string, QueryOptions>; count: number }> {
  let count = 0;
  const sent = new Map<string, QueryOptions>();
  const query = sequelize.query.bind(sequelize);
  const noting = (sql: string, options: QueryOptions): unknown => {
    count += 1;
    sent.set(sql, options.replacements ? { replacements: options.replacements } : {});
    return query(sql, options);
  };
  Object.assign(sequelize, { query: noting });
  try {
    await work();
  } finally {
    Object.assign(sequelize, { query });
  }
  return { sent, count };
}

/** What the database says of how it does each statement that `work` sends. */
async function plansOf(database: Database, work: () => Promise<unknown>): Promise<string[]> {
  const { sent } = await statementsOf(database, work);
  const { sequelize } = database;
  const explain = database.kind === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
  const plans: string[] = [];
  for (const [sql, options] of sent) {
    const rows = await sequelize.query<object>(`${explain} ${sql}`, {
      ...options,
      ...plainSelect(),
    });
    for (const row of rows) plans.push(`${JSON.stringify(row)} of ${sql}`);
  }
  return plans;
}

for (const kind of databaseKinds()) {
  test(`${kind}: any conditions together find what fits, the newest of it`, async (t) => {
    const database = await openDatabase(t, kind);
    await fill(database);
    for (const selection of combinations())
      for (const limit of [3, 10_000]) {
        const found = await readAuditEntries(database, { ...selection, limit });
        const wanted = expected({ ...selection, limit }).slice(-limit);
        t.deepEqual(
          found.map(({ id }) => id),
          wanted,
          JSON.stringify(selection),
        );
      }
    const annDeleted = { who: 'ann@b.test', action: 'delete', limit: 1 };
    t.is((await readAuditEntries(database, annDeleted))[0]?.id, idAt(RARE));
  });

  test(`${kind}: what two conditions lead to is found at once, however many fit each`, async (t) => {
    const database = await openDatabase(t, kind);
    await fill(database);
    // Ann and Bob have more entries than one statement looks at, and so has each of the others.
    for (const pair of [
      { who: 'bob@b.test', action: 'update' },
      { who: 'gateway', kind: 'user' },
      { who: 'gateway', action: 'sign in' },
      { who: 'ann@b.test', kind: 'user' },
      { kind: 'rule', action: 'sign in' },
    ]) {
      const { count } = await statementsOf(database, () =>
        readAuditEntries(database, { ...pair, limit: 100 }),
      );
      t.is(count, 1, JSON.stringify(pair));
    }
  });

  test(`${kind}: no plan looks at all entries, or sorts them`, async (t) => {
    const database = await openDatabase(t, kind);
    await fill(database);
    const work = async (): Promise<void> => {
      for (const selection of combinations())
        await readAuditEntries(database, { ...selection, limit: 50 });
      await readAuditEntries(database, { limit: 300 });
      await readAuditEntries(database, { limit: 300, beforeId: idAt(3_000) });
      await pruneAuditEntries(database, new Date(START_MS + 250));
    };
    const plans = await plansOf(database, work);
    t.true(plans.length > 50, String(plans.length));
    const bad =
      database.kind === 'sqlite'
        ? /SCAN audit_entries|TEMP B-TREE/
        : /"table":"audit_entries","type":"(ALL|index)"|filesort|temporary/;
    t.deepEqual(
      plans.filter((plan) => bad.test(plan)),
      [],
    );
    const scan = `SELECT id FROM audit_entries WHERE address = '192.0.2.1'`;
    const scanned = await plansOf(database, () => database.sequelize.query(scan, plainSelect()));
    t.regex(scanned.join('\n'), bad);
  });

  test(`${kind}: an e-mail is found in any case of A to Z`, async (t) => {
    const database = await openDatabase(t, kind);
    const emails = ['Éva@b.test', 'éva@b.test'];
    const drafts = emails.map((email, i) => ({
      id: idAt(i),
      happenedAt: new Date(START_MS + i),
      origin: { actor: 'user', email } as const,
      action: 'create' as const,
      kind: 'rule' as const,
      recordId: 'r',
      changes: {},
    }));
    await write(database, (transaction) => appendAuditEntries(database, drafts, transaction));
    const find = async (who: string): Promise<(string | null)[]> =>
      (await readAuditEntries(database, { who, limit: 9 })).map(({ email }) => email);
    t.deepEqual(await find('ÉVA@B.test'), emails);
    t.deepEqual(await find('éva@B.test'), database.kind === 'sqlite' ? ['éva@b.test'] : emails);
  });
}
