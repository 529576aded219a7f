// Migrations: once each, by one process, again after a crash at any statement, never past what
// the code knows.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { DatabaseError } from 'sequelize';
import { type Database, migrate, pendingMigrations } from '../../../models/index.ts';
import { EncryptionKeyError } from '../../../models/storage/encryption.ts';
import { DatabaseTooNewError } from '../../../models/migrations/index.ts';
import { FOLDED, UNRELEASED } from '../../../models/migrations/before-release.ts';
import { type Migration, migrations } from '../../../models/migrations/index.ts';
import { createTable } from '../../../models/migrations/schema.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { addUser } from '../fixtures.ts';
import { readSchema } from './schema-text.ts';

const names = migrations.map(({ name }) => name);

test('the steps are numbered in their order, behind all that no release has', (t) => {
  t.deepEqual(names.toSorted(), names);
  for (const name of names) t.regex(name, /^\d{4}-[\w.-]+$/);
  const between = [...FOLDED, ...UNRELEASED].toSorted().at(-1) ?? '';
  t.true(names.slice(1).every((name) => name > between));
});

for (const kind of databaseKinds()) {
  test(`${kind}: an empty database gets every step, a second call none`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    t.deepEqual(await pendingMigrations(database), names);
    t.deepEqual(await migrate(database), names);
    t.deepEqual(await pendingMigrations(database), []);
    t.deepEqual(await migrate(database), []);
    await addUser(database);
  });

  test(`${kind}: three processes that start together migrate once`, async (t) => {
    const place = await makePlace(t, kind);
    const databases = await Promise.all([1, 2, 3].map(() => openAt(t, place)));
    const applied = await Promise.all(databases.map((database) => migrate(database)));
    t.deepEqual(applied.flat(), names);
    for (const database of databases) {
      t.deepEqual(await pendingMigrations(database), []);
      await addUser(database);
    }
  });

  test(`${kind}: a crash at any statement is repaired by the next start`, async (t) => {
    t.timeout(120_000);
    const after = await schemasAfterSteps(await openAt(t, await makePlace(t, kind)));
    let crashes = 0;
    /** Steps of which it is not known yet that all writes were tried. */
    let steps = migrations.map((_, i) => i + 1);
    for (let write = 0; steps.length > 0; write += 1) {
      const place = await makePlace(t, kind);
      const database = await openAt(t, place);
      const crashed: number[] = [];
      // What one crash left is repaired, so the next step finds what it always finds.
      for (const step of steps) {
        const known = migrations.slice(0, step);
        if (await crashBefore(database, write, known)) crashed.push(step);
        await migrate(database, { migrations: known, checksKey: false });
        const where = `${known.at(-1)?.name}, after a crash before write ${write}`;
        t.deepEqual(await readSchema(database), after[step - 1], where);
      }
      await database.close();
      crashes += crashed.length;
      steps = crashed;
    }
    t.true(crashes > 30, `${crashes} crashes`);
  });

  test(`${kind}: statements that a deadlock ended are run again`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    const { sequelize } = database;
    const query = sequelize.query.bind(sequelize) as (...given: unknown[]) => Promise<unknown>;
    const seen = new Set<string>();
    let deadlocks = 0;
    const queryOrFail = async (sql: string, ...rest: unknown[]): Promise<unknown> => {
      const isNew = !seen.has(sql) && /^(ALTER|CREATE|INSERT|UPDATE) /.test(sql);
      if (isNew) seen.add(sql);
      if (!isNew || seen.size % 3 !== 2) return query(sql, ...rest);
      deadlocks += 1;
      throw new DatabaseError(Object.assign(new Error('Deadlock found'), { errno: 1213, sql }));
    };
    sequelize.query = queryOrFail as typeof sequelize.query;
    t.deepEqual(
      await migrate(database, { takesSteps: true }),
      migrations.map(({ name }) => name),
    );
    t.true(deadlocks > 10, `${deadlocks} deadlocks`);
    await addUser(database);
  });

  test(`${kind}: later steps run alone, and only once`, async (t) => {
    const database = await openDatabase(t, kind);
    let runs = 0;
    const later: Migration = {
      name: '9999-later',
      up: async (context) => {
        runs += 1;
        await createTable(context, 'later', { columns: { id: { type: 'INTEGER' } } });
      },
    };
    const known = [...migrations, later];
    t.deepEqual(await migrate(database, { migrations: known }), ['9999-later']);
    t.deepEqual(await migrate(database, { migrations: known }), []);
    t.is(runs, 1);
  });

  test(`${kind}: a database that later code migrated is refused`, async (t) => {
    const database = await openDatabase(t, kind);
    const later = { name: '9999-later', up: async () => undefined };
    await migrate(database, { migrations: [...migrations, later] });
    const refused = {
      instanceOf: DatabaseTooNewError,
      message:
        /later version of Postern \(9999-later\).*Run that version.*empty database.*before-upgrade-0\d{3}-…/,
    };
    await t.throwsAsync(migrate(database), refused);
    await t.throwsAsync(pendingMigrations(database), refused);
  });

  test(`${kind}: a step that fails is not taken for done, and frees the lease`, async (t) => {
    const database = await openDatabase(t, kind);
    let fails = true;
    const step: Migration = {
      name: '9999-step',
      up: async () => {
        if (fails) throw new Error('no disk');
      },
    };
    const known = [...migrations, step];
    await t.throwsAsync(migrate(database, { migrations: known }), { message: /no disk/ });
    t.deepEqual(await pendingMigrations(database, known), ['9999-step']);
    fails = false;
    t.deepEqual(await migrate(database, { migrations: known }), ['9999-step']);
  });

  test(`${kind}: before an upgrade comes a call, which may forbid it, and the key is looked at`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    let calls = 0;
    const beforeUpgrade = async () => void (calls += 1);
    await migrate(database, { beforeUpgrade });
    t.is(calls, 0, 'an empty database has nothing to lose');
    const known = [...migrations, { name: '9999-later', up: async () => undefined }];
    const forbid = () => Promise.reject(new Error('no room'));
    await t.throwsAsync(migrate(database, { migrations: known, beforeUpgrade: forbid }), {
      message: 'no room',
    });
    const other = await openAt(t, { ...place, encryptionKey: randomBytes(32) });
    await t.throwsAsync(migrate(other, { migrations: known, beforeUpgrade }), {
      instanceOf: EncryptionKeyError,
    });
    t.deepEqual(await pendingMigrations(database, known), ['9999-later']);
    t.is(calls, 0);
    await migrate(database, { migrations: known, beforeUpgrade });
    await migrate(database, { migrations: known, beforeUpgrade });
    t.is(calls, 1);
  });

  test(`${kind}: another encryption key is refused with what to restore`, async (t) => {
    const place = await makePlace(t, kind);
    await migrate(await openAt(t, place));
    const other = await openAt(t, { ...place, encryptionKey: randomBytes(32) });
    await t.throwsAsync(migrate(other), {
      instanceOf: EncryptionKeyError,
      message: /Restore the key that the database was made with: .*DATABASE_ENCRYPTION_KEY/,
    });
  });
}

/** Migrates an empty database step by step, and reads its schema after each. */
async function schemasAfterSteps(database: Database): Promise<unknown[]> {
  const schemas: unknown[] = [];
  for (const [i] of migrations.entries()) {
    await migrate(database, { migrations: migrations.slice(0, i + 1), checksKey: false });
    schemas.push(await readSchema(database));
  }
  return schemas;
}

/** Kinds of statements that change nothing. */
const READS = new Set(['SELECT', 'SHOWTABLES', 'DESCRIBE', 'SHOWINDEXES']);

/**
 * Runs the last of some steps, and fails every statement from the given write on, as a dying process
 * would; false if none was left. A crash at a read leaves what one at the next write leaves.
 */
async function crashBefore(
  database: Database,
  write: number,
  known: readonly Migration[],
): Promise<boolean> {
  if (known.length > 1)
    await migrate(database, { migrations: known.slice(0, -1), checksKey: false });
  let writes = 0;
  database.sequelize.addHook('beforeQuery', 'crash', (options) => {
    // A process that dies sends no ROLLBACK, but the database does as if it had.
    if ('completesTransaction' in options) return;
    if (!READS.has(options.type ?? '')) writes += 1;
    if (writes > write) throw new Error('crashed');
  });
  const migrated = await migrate(database, { migrations: known, checksKey: false }).then(
    () => true,
    () => false,
  );
  database.sequelize.removeHook('beforeQuery', 'crash');
  // The lease of a process that died runs out; here it is as if that time had passed.
  await database.sequelize.query('UPDATE leases SET expires_ms = 0').catch(() => undefined);
  return !migrated;
}
