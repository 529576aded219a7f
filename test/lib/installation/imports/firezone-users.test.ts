// The users of a dump: who is there already keeps role and state, and what differs is reported.

import test from 'ava';
import { importUsers } from '../../../../lib/installation/imports/firezone-users.ts';
import type { PresentUser } from '../../../../lib/installation/imports/run.ts';
import { newId, readUsers } from '../../../../models/index.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const EMAIL = 'ann@b.example';
const LONG_AGO = new Date('2024-01-02T03:04:05Z');
const enabled = { disabled_at: null, disabled_by: null };
const disabled = { disabled_at: LONG_AGO, disabled_by: 'administrator' as const };

const rows: [
  says: string,
  here: object,
  there: Record<string, unknown>,
  differs: PresentUser['differs'],
  note: RegExp,
][] = [
  [
    'an administrator of the dump is not promoted',
    { role: 'unprivileged', ...enabled },
    { role: 'admin', disabled_at: null },
    { role: { here: 'unprivileged', there: 'admin' } },
    /^ann@b\.example is there already and stays unprivileged \(in the dump admin\)$/,
  ],
  [
    'an administrator is not demoted',
    { role: 'admin', ...enabled },
    { role: 'unprivileged', disabled_at: null },
    { role: { here: 'admin', there: 'unprivileged' } },
    /stays admin \(in the dump unprivileged\)$/,
  ],
  [
    'who is disabled here stays so',
    { role: 'admin', ...disabled },
    { role: 'admin', disabled_at: null },
    { disabled: { here: true, there: false } },
    /stays disabled \(in the dump enabled\)$/,
  ],
  [
    'who was disabled there is reported',
    { role: 'unprivileged', ...enabled },
    { role: 'admin', disabled_at: '2023-05-03T11:00:00Z' },
    {
      role: { here: 'unprivileged', there: 'admin' },
      disabled: { here: false, there: true },
    },
    /stays unprivileged \(in the dump admin\) and enabled \(in the dump disabled\)$/,
  ],
  [
    'when somebody was disabled is no difference',
    { role: 'unprivileged', ...disabled },
    { role: 'unprivileged', disabled_at: '2023-05-03T11:00:00Z' },
    {},
    /^there already, as in the dump: ann@b\.example$/,
  ],
  [
    'what the dump leaves out differs from nothing',
    { role: 'admin', ...disabled },
    {},
    {},
    /^there already, as in the dump: ann@b\.example$/,
  ],
];

for (const kind of databaseKinds())
  for (const [says, here, there, differs, note] of rows)
    test(`${kind}: ${says}`, async (t) => {
      const database = await openDatabase(t, kind);
      await addUser(database, { email: EMAIL, ...here });
      const before = await readUsers(database);
      const { present, notes, made, merged } = await write(database, (transaction) =>
        importUsers(database, [{ email: 'ANN@B.example', ...there }], transaction),
      );
      t.deepEqual(await readUsers(database), before);
      t.deepEqual([made, merged], [0, 1]);
      t.deepEqual(present, [{ email: EMAIL, differs }]);
      t.regex(notes[0] ?? '', note);
      const advice = notes.filter((line) => /to follow the dump/.test(line));
      t.is(advice.length, Object.keys(differs).length === 0 ? 0 : 1);
    });

test('an e-mail that a dump names twice is an error: nobody knows which of them is meant', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const twice = [
    { id: newId(), email: 'new@b.example', disabled_at: null },
    { id: newId(), email: 'NEW@b.example', disabled_at: '2023-05-03T11:00:00Z' },
  ];
  const { errors, present } = await write(database, (transaction) =>
    importUsers(database, twice, transaction),
  );
  t.deepEqual(errors, ['users[1].email has already been taken']);
  t.deepEqual(present, []);
});

for (const kind of databaseKinds())
  test(`${kind}: an e-mail that looks like that of another user, or of the dump, is an error`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'kim@b.example' });
    const emails = ['\uff4bim@b.example', 'eve@b.example', '\uff45ve@b.example', 'KIM@b.example'];
    const dumped = emails.map((email) => ({ id: newId(), email }));
    const { errors } = await write(database, (transaction) =>
      importUsers(database, dumped, transaction),
    );
    t.deepEqual(errors, [
      'users[0].email looks like the address of another user',
      'users[2].email looks like the address of another user',
    ]);
  });

for (const kind of databaseKinds())
  test(`${kind}: who has only the key of a user in common gets no device of theirs, nor gives one`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'kim@b.example', role: 'admin' });
    const emails = ['\u212aim@b.example', 'eve\u00e9@b.example', 'eve\u00c9@b.example'];
    const dumped = emails.map((email) => ({ id: newId(), email }));
    const { errors, present } = await write(database, (transaction) =>
      importUsers(database, dumped, transaction),
    );
    t.deepEqual(errors, [
      'users[0].email looks like the address of another user',
      'users[2].email looks like the address of another user',
    ]);
    t.deepEqual(present, [], `nobody is taken for ${user.email}`);
  });
