// The frame of imports: all or nothing, and how errors are reported.

import test from 'ava';
import { atMost, messages } from '../../../../lib/kit/validation/messages.ts';
import {
  errorLines,
  ImportError,
  indented,
  runImport,
} from '../../../../lib/installation/imports/run.ts';
import { currentRevision } from '../../../../models/index.ts';
import { userValues } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: with an error, or on trial, nothing stays, not even a revision`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await currentRevision(database);
    const run = (isTrial: boolean, errors: string[]) =>
      runImport(database, isTrial, async (transaction) => {
        await database.models.User.create(userValues(), { transaction });
        return { errors, notes: ['a note'], counts: { users: 1 } };
      });
    await t.throwsAsync(run(false, ['users[0].email is invalid']), {
      instanceOf: ImportError,
      message: 'one error, and nothing was written:\n  users[0].email is invalid\n  a note',
    });
    t.deepEqual(await run(true, []), { errors: [], notes: ['a note'], counts: { users: 1 } });
    t.is(await database.models.User.count(), 0);
    t.is(await currentRevision(database), before);
    await run(false, []);
    t.is(await database.models.User.count(), 1);
  });

test('errors are reported by their place, those of entries too', (t) => {
  t.deepEqual(
    errorLines('configuration', {
      default_client_mtu: [messages.invalid],
      base: [atMost(3)],
      providers: [{}, { id: [messages.taken, messages.reserved] }],
    }),
    [
      'configuration.default_client_mtu is invalid',
      'configuration must be less than or equal to 3',
      'configuration.providers[1].id has already been taken',
      'configuration.providers[1].id is reserved',
    ],
  );
});

test('a field has the place that a file gives it', (t) => {
  const errors = { public_key: [messages.invalid], name: [messages.taken] };
  t.deepEqual(errorLines('line 3', errors, { public_key: 'line 3: PublicKey' }), [
    'line 3: PublicKey is invalid',
    'line 3.name has already been taken',
  ]);
});

test('what a file says does not steer a terminal', (t) => {
  t.deepEqual(indented(['a\u001B[2Jb']), ['   a [2Jb'.slice(1)]);
});
