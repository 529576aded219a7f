// A later version migrates the database while this one runs: every read of the revision says it,
// and no write gets through, also one that was on its way. docs/state.md#a-later-schema.

import test from 'ava';
import {
  beginSignInRequest,
  currentRevision,
  migrate,
  newId,
  NO_REVISION,
  readChanges,
  recordHeartbeat,
  registerGateway,
  SchemaNewerError,
  takeSignInRequest,
  undoneTransaction,
  useAssertion,
  writeTransaction,
} from '../../../models/index.ts';
import { laterStep, noneIsLater, readLater } from '../../../models/database/later-schema.ts';
import { UNRELEASED } from '../../../models/migrations/before-release.ts';
import { insertIfAbsent } from '../../../models/migrations/schema.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';
import { LATER_STEP, migrateLater } from '../../support/database/later-step.ts';
import { addUser } from '../fixtures.ts';

const refused = { instanceOf: SchemaNewerError };

test('a name is a part of a statement only where it is a name', (t) => {
  t.is(laterStep('sqlite', null), 'NULL');
  t.is(noneIsLater(null), '1 = 1');
  t.throws(() => laterStep('sqlite', "0001' OR 1"));
  t.is(readLater(null), null);
  const since = new Date('2026-11-29T02:08:45.123Z');
  for (const time of ['2026-11-29 02:08:45.123000', '2026-11-29 02:08:45.123 +00:00'])
    t.deepEqual(readLater(`${time} 9999-later`), { step: '9999-later', since });
});

for (const kind of databaseKinds()) {
  test(`${kind}: a later schema is seen with the revision, and gone with it`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const revision = await currentRevision(database);
    t.is(database.later, null);
    const before = Date.now();
    const later = await migrateLater(t, place);
    t.is(await currentRevision(database), revision);
    t.is(database.later?.step, LATER_STEP.name);
    const sinceMs = database.later?.since.getTime() ?? 0;
    t.true(sinceMs >= before && sinceMs <= Date.now(), String(database.later?.since));
    t.is((await readChanges(database, revision)).later?.step, LATER_STEP.name);
    t.is((await readChanges(database, NO_REVISION)).later?.step, LATER_STEP.name);
    t.is((await readChanges(later, revision)).later, null);
    // Whoever migrated may have a clock that is ahead.
    await later.sequelize.query(
      `UPDATE migrations SET executed_at = '2099-01-01 00:00:00.000' WHERE name = '${LATER_STEP.name}'`,
    );
    const fresh = await openAt(t, place);
    fresh.expectNoneBehind(database.lastStep!);
    for (const one of [database, fresh]) {
      await readChanges(one, revision);
      t.true((one.later?.since.getTime() ?? Infinity) <= Date.now(), String(one.later?.since));
    }
    await later.sequelize.query(`DELETE FROM migrations WHERE name = '${LATER_STEP.name}'`);
    t.is((await readChanges(database, revision)).later, null);
    t.is(database.later, null);
    await addUser(database);
  });

  test(`${kind}: no write gets through, also where nothing has seen the schema yet`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const later = await migrateLater(t, place);
    const before = await currentRevision(later);
    const { User, SignInAttempt } = database.models;
    const changed = writeTransaction(database, (transaction) =>
      User.create({ email: 'a@b.example', role: 'admin' }, { transaction }),
    );
    await t.throwsAsync(changed, refused);
    database.noteLater(null);
    const unchanged = writeTransaction(database, (transaction) =>
      SignInAttempt.create(
        { sha256: 'a'.repeat(64), kind: 'account', count: 1, expires_at: new Date() },
        { transaction },
      ),
    );
    await t.throwsAsync(unchanged, refused);
    t.is(await User.count(), 0);
    t.is(await SignInAttempt.count(), 0);
    t.is(await currentRevision(later), before);
    // The version that migrated writes on.
    await addUser(later);
  });

  test(`${kind}: once it is known, nothing is even begun`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    await migrateLater(t, place);
    await currentRevision(database);
    const never = async (): Promise<void> => t.fail('it ran');
    await t.throwsAsync(writeTransaction(database, never), refused);
    await t.throwsAsync(undoneTransaction(database, never), refused);
    await t.throwsAsync(beginSignInRequest(database, {} as never), refused);
    await t.throwsAsync(takeSignInRequest(database, 'a', new Date()), refused);
    await t.throwsAsync(useAssertion(database, {} as never), refused);
    const id = newId();
    await registerGateway(database, { id, name: 'here', startedAt: new Date() });
    t.true(
      await recordHeartbeat(database, id, { seenAt: new Date(), appliedRevision: NO_REVISION }),
    );
  });

  test(`${kind}: the steps of before 1.0.0 are none of a later version`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const executed_at = '2026-01-01 00:00:00.000';
    for (const name of UNRELEASED)
      await insertIfAbsent(database, 'migrations', { name, executed_at });
    await addUser(database);
    t.is(database.later, null);
  });
}
