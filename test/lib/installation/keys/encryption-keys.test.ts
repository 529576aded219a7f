// The keys in DATA_DIR and in the environment, through a rotation and one that was interrupted.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import {
  adoptNextKey,
  encryptionKeys,
  isRotationUnfinished,
  missingKey,
  nextEncryptionKeys,
} from '../../../../lib/installation/keys/encryption-keys.ts';
import { sayMissingKey } from '../../../../lib/installation/keys/advice.ts';
import { keyIdOf } from '../../../../models/index.ts';
import { scratchFolder } from '../../../support/database/full-database.ts';
import { configOf } from '../../../support/api/server.ts';

test('one key is made, and serves alone', (t) => {
  const config = configOf({ DATA_DIR: scratchFolder(t) });
  const { key, older, isUnfinished } = encryptionKeys(config);
  t.is(key.length, 32);
  t.deepEqual([older, isUnfinished], [[], false]);
  t.deepEqual(encryptionKeys(config).key, key);
});

test('no key is made for a database that was written with another one', (t) => {
  const config = configOf({ DATA_DIR: scratchFolder(t) });
  const database = join(config.dataDir, 'postern.sqlite');
  writeFileSync(database, '');
  t.is(missingKey(config), null, 'an empty file is a new database');
  writeFileSync(database, 'rows');
  const keyFile = join(config.dataDir, 'encryption.key');
  t.deepEqual(missingKey(config), { keyFile, database });
  t.throws(() => encryptionKeys(config), {
    message: sayMissingKey({ keyFile, database }, config),
  });
  t.deepEqual(readdirSync(config.dataDir), ['postern.sqlite']);
  const given = { DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  t.is(missingKey(configOf({ DATA_DIR: config.dataDir, ...given })), null);
  const elsewhere = configOf({ DATA_DIR: scratchFolder(t), DATABASE_URL: `sqlite:${database}` });
  t.like(missingKey(elsewhere), { database });
  writeFileSync(keyFile, randomBytes(32).toString('base64'));
  t.is(missingKey(config), null);
});

test('a rotation in DATA_DIR knows both keys until the next one is adopted', (t) => {
  const config = configOf({ DATA_DIR: scratchFolder(t) });
  t.false(isRotationUnfinished(config));
  t.deepEqual(readdirSync(config.dataDir), [], 'nothing is made by looking');
  const { key: first } = encryptionKeys(config);
  const next = nextEncryptionKeys(config);
  t.notDeepEqual(next.key, first);
  t.true(next.older.some((key) => key.equals(first)));
  t.deepEqual(nextEncryptionKeys(config).key, next.key);
  const between = encryptionKeys(config);
  t.true(between.isUnfinished);
  t.true(isRotationUnfinished(config));
  t.deepEqual([between.key, between.older], [first, [next.key]]);

  const kept = adoptNextKey(config);
  t.false(isRotationUnfinished(config));
  t.is(kept, join(config.dataDir, `encryption.key.${keyIdOf(first)}`));
  t.deepEqual(encryptionKeys(config), { key: next.key, older: [], isUnfinished: false });
  t.is(readFileSync(kept ?? '', 'utf8').trim(), first.toString('base64'));
  for (const name of readdirSync(config.dataDir))
    t.is(statSync(join(config.dataDir, name)).mode & 0o777, 0o600, name);
});

test('keys of the environment are taken as they are, and no file is made', (t) => {
  const [key, old] = [randomBytes(32), randomBytes(32)];
  const config = configOf({
    DATA_DIR: scratchFolder(t),
    DATABASE_ENCRYPTION_KEY: key.toString('base64'),
    DATABASE_ENCRYPTION_KEY_OLD: old.toString('base64'),
  });
  t.deepEqual(encryptionKeys(config), { key, older: [old], isUnfinished: false });
  t.deepEqual(nextEncryptionKeys(config), { key, older: [old], isUnfinished: false });
  t.is(adoptNextKey(config), null);
  t.deepEqual(readdirSync(config.dataDir), []);
});
