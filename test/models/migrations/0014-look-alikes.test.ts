// Users of an older database get the look of their e-mails; pairs that look alike stay.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { connectDatabase, emailLook, migrate, newId } from '../../../models/index.ts';
import { up } from '../../../models/migrations/0014-look-alikes.ts';
import { migrations } from '../../../models/migrations/index.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { databaseKinds, makePlace } from '../../support/database/databases.ts';

interface Stored {
  readonly email: string;
  readonly email_look?: string | null;
  readonly updated_at: unknown;
}

for (const kind of databaseKinds())
  test(`${kind}: everybody of an older database has a look, and is otherwise as before`, async (t) => {
    const { url } = await makePlace(t, kind);
    const database = await connectDatabase({ url, encryptionKey: randomBytes(32) });
    t.teardown(() => database.close());
    await migrate(database, { migrations: migrations.slice(0, 13) });
    const emails = [
      'kim@example.com',
      '\uff4bim@example.com',
      "o'neil?:id@example.com",
      ...Array.from({ length: 1_001 }, (_, i) => `user-${i}@example.com`),
    ];
    const rows = emails.map((email) => [
      newId(),
      email,
      email,
      'unprivileged',
      '2026-01-01 00:00:00.000000',
      '2026-01-01 00:00:00.000000',
    ]);
    await database.sequelize.query(
      'INSERT INTO users (id, email, email_key, role, inserted_at, updated_at) VALUES ' +
        rows.map(() => '(?)').join(', '),
      { replacements: rows },
    );
    const read = (): Promise<Stored[]> =>
      database.sequelize.query('SELECT * FROM users ORDER BY id', plainSelect());
    const before = await read();
    t.is((await migrate(database))[0], '0014-look-alikes');
    const after = await read();
    t.is(after.length, emails.length);
    for (const [i, { email_look: look, ...others }] of after.entries()) {
      t.is(look, emailLook(others.email));
      t.deepEqual(others, before[i] as typeof others);
    }
    t.is(after.filter(({ email_look: look }) => look === emailLook('kim@example.com')).length, 2);
    await up(database);
    t.deepEqual(await read(), after, 'it may run again');
  });
