// Secrets: made once whoever asks first, kept encrypted, guarded by the key check.

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { migrate, readOrCreateSecret, readSecret, refuseOtherKey } from '../../../models/index.ts';
import { EncryptionKeyError } from '../../../models/storage/encryption.ts';
import { checkEncryptionKey } from '../../../models/queries/secrets.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: a secret is made once and then read`, async (t) => {
    const database = await openDatabase(t, kind);
    let made = 0;
    const make = () => {
      made += 1;
      return `value ${made}`;
    };
    t.is(await readOrCreateSecret(database, 'server key', make), 'value 1');
    t.is(await readOrCreateSecret(database, 'server key', make), 'value 1');
    t.is(await readOrCreateSecret(database, 'another', make), 'value 2');
  });

  test(`${kind}: looking at a secret, and at the key check, makes none`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind));
    await migrate(database, { checksKey: false });
    t.is(await readSecret(database, 'server key'), null);
    await refuseOtherKey(database);
    t.is(await database.models.Secret.count(), 0);
    await readOrCreateSecret(database, 'server key', () => 'made');
    t.is(await readSecret(database, 'server key'), 'made');
  });

  test(`${kind}: three processes that race get one value`, async (t) => {
    const place = await makePlace(t, kind);
    const databases = await Promise.all([1, 2, 3].map(() => openAt(t, place)));
    await migrate(databases[0]!);
    const values = await Promise.all(
      databases.map((database) =>
        readOrCreateSecret(database, 'server key', async () => {
          await sleep(20);
          return randomBytes(32).toString('base64');
        }),
      ),
    );
    t.is(new Set(values).size, 1);
    t.is(await readOrCreateSecret(databases[0]!, 'server key', () => 'late'), values[0]!);
  });

  test(`${kind}: a secret is not in the clear in the database`, async (t) => {
    const database = await openDatabase(t, kind);
    await readOrCreateSecret(database, 'server key', () => 'a very secret text');
    const [rows] = await database.sequelize.query('SELECT * FROM secrets');
    t.false(JSON.stringify(rows).includes('very secret'));
  });

  test(`${kind}: a key check that was tampered with is refused, not made again`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    await checkEncryptionKey(database);
    await database.sequelize.query("UPDATE secrets SET value = 'x' WHERE name = 'key_check'");
    await t.throwsAsync(checkEncryptionKey(database), {
      instanceOf: EncryptionKeyError,
      message: /DATABASE_ENCRYPTION_KEY does not open the key check/,
    });
    t.is(await database.models.Secret.count(), 1);
  });

  test(`${kind}: a database opened with its earlier key among others is accepted`, async (t) => {
    const place = await makePlace(t, kind);
    await migrate(await openAt(t, place));
    const rotated = await openAt(
      t,
      {
        ...place,
        encryptionKey: randomBytes(32),
      },
      { olderEncryptionKeys: [place.encryptionKey] },
    );
    await t.notThrowsAsync(migrate(rotated));
  });
}
