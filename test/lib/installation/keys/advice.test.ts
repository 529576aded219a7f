// What is said of the keys that are needed.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { sayKeys, sayMissingKey, unknownKeys } from '../../../../lib/installation/keys/advice.ts';
import { makePlace, openAt } from '../../../support/database/databases.ts';

test('keys are named, and those among several that are not known here', async (t) => {
  const other = randomBytes(32);
  const place = await makePlace(t, 'sqlite');
  const database = await openAt(t, place, { olderEncryptionKeys: [other] });
  const { keyId: mine } = database.keyring;
  const { keyId: older } = (await openAt(t, { ...place, encryptionKey: other })).keyring;
  const rows: [keys: string[], says: string, unknown: string[]][] = [
    [[mine], `open with encryption key ${mine} alone`, []],
    [[mine, older], `need all of the encryption keys ${mine}, ${older}`, []],
    [[mine, 'x'], `need all of the encryption keys ${mine}, x (not known here: x)`, ['x']],
    [
      [mine, 'x', 'y'],
      `need all of the encryption keys ${mine}, x, y (not known here: x, y)`,
      ['x', 'y'],
    ],
  ];
  for (const [keys, says, unknown] of rows) {
    t.is(sayKeys(keys, database), says);
    t.deepEqual(unknownKeys(keys, database), unknown);
  }
});

test('of a key that is gone are said the file, the setting, the fix and what is lost', (t) => {
  const missing = { keyFile: '/data/encryption.key', database: '/data/postern.sqlite' };
  const said = sayMissingKey(missing, { dataDir: '/data', databaseUrl: null });
  t.regex(said, /^\/data\/encryption\.key is missing, .* of \/data\/postern\.sqlite \(DATA_DIR /);
  t.regex(said, /; restore the file from the backup, or set DATABASE_ENCRYPTION_KEY to what/);
  t.regex(said, /without it the gateway's private key, .* are lost$/);
  const named = { dataDir: '/data', databaseUrl: 'sqlite:/db/postern.sqlite' };
  t.regex(
    sayMissingKey(missing, named),
    /another DATA_DIR than \/data, correct that; else restore/,
  );
});
