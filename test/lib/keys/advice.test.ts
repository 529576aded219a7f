// What is said of the keys that are needed.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { sayKeys, unknownKeys } from '../../../lib/keys/advice.ts';
import { makePlace, openAt } from '../../support/database/databases.ts';

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
