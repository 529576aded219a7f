// What the first start of an installation creates, and that later starts and other processes find
// it.

import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { Config } from '../../../../config/index.ts';
import {
  encryptionKey,
  gatewayIdentity,
  knownServerPrivateKey,
  prepareDataDir,
  readOrCreateKey,
  serverPrivateKey,
} from '../../../../lib/installation/setup/first-start.ts';
import { databaseKinds, makePlace, openAt } from '../../../support/database/databases.ts';
import { migrate } from '../../../../models/index.ts';
import { configOf } from '../../../support/api/server.ts';

/** Settings with a data folder that does not exist yet. */
function fresh(t: ExecutionContext, environment: Record<string, string> = {}): Config {
  const folder = mkdtempSync(join(tmpdir(), 'postern-start-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return configOf({ DATA_DIR: join(folder, 'deep', 'data'), ...environment });
}

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('only its owner can use the data folder, and creating it again does no harm', (t) => {
  const config = fresh(t);
  prepareDataDir(config);
  prepareDataDir(config);
  t.is(mode(config.dataDir), '700');
});

test('the error for a data folder that cannot be created names its setting', (t) => {
  for (const folder of ['/dev/null/data', '/proc/data/deeper']) {
    const { message } = t.throws(() => prepareDataDir(configOf({ DATA_DIR: folder })))!;
    t.true(message.startsWith(`DATA_DIR ${folder} cannot be made`), message);
    t.true(message.includes('; set DATA_DIR'));
  }
});

test('the encryption key is created once, for its owner alone, and no other file is left', (t) => {
  const config = fresh(t);
  prepareDataDir(config);
  const key = encryptionKey(config);
  t.is(key.length, 32);
  t.deepEqual(encryptionKey(config), key);
  t.is(mode(join(config.dataDir, 'encryption.key')), '600');
  t.deepEqual(readdirSync(config.dataDir), ['encryption.key']);
  t.notDeepEqual(encryptionKey(prepared(t)), key);
});

test('what root creates in the folder of a service belongs to the service', (t) => {
  const isRoot = process.getuid?.() === 0;
  const owner = isRoot ? 65_534 : Number(process.getuid?.());
  const config = prepared(t);
  if (isRoot) chownSync(config.dataDir, owner, owner);
  encryptionKey(config);
  gatewayIdentity(config);
  // A file that a former process of the same number left does not matter.
  writeFileSync(join(config.dataDir, `next.key.${process.pid}`), 'half');
  readOrCreateKey(join(config.dataDir, 'next.key'));
  for (const name of ['encryption.key', 'gateway.id', 'next.key'])
    t.is(statSync(join(config.dataDir, name)).uid, owner, name);
});

function prepared(t: ExecutionContext): Config {
  const config = fresh(t);
  prepareDataDir(config);
  return config;
}

test('an encryption key from the environment is used, and no file is written', (t) => {
  const given = Buffer.alloc(32, 7).toString('base64');
  const config = fresh(t, { DATABASE_ENCRYPTION_KEY: given });
  prepareDataDir(config);
  t.is(encryptionKey(config).toString('base64'), given);
  t.deepEqual(readdirSync(config.dataDir), []);
});

test('a damaged key file is not replaced, because the database would be lost', (t) => {
  const config = prepared(t);
  const path = join(config.dataDir, 'encryption.key');
  writeFileSync(path, 'half');
  t.throws(() => encryptionKey(config), { message: /does not hold 32 bytes .* backup/ });
  t.is(readFileSync(path, 'utf8'), 'half');
});

test('a gateway keeps its id after a restart', (t) => {
  const config = prepared(t);
  const { id, name } = gatewayIdentity(config);
  t.regex(id, /^[0-9a-f-]{36}$/);
  t.not(name, '');
  t.is(gatewayIdentity(config).id, id);
  t.not(gatewayIdentity(prepared(t)).id, id);
});

for (const text of ['', '\n', 'gateway-1', '0190a1b2-c3d4-7e5f-8a9b', `${'x'.repeat(36)}\n`])
  test(`an id file that holds ${JSON.stringify(text)} is refused, with what to do`, (t) => {
    const config = prepared(t);
    const path = join(config.dataDir, 'gateway.id');
    writeFileSync(path, text);
    t.throws(() => gatewayIdentity(config), {
      message: /gateway\.id does not hold the id of a gateway \(a UUID\); remove the file/,
    });
    t.is(readFileSync(path, 'utf8'), text);
    rmSync(path);
    t.regex(gatewayIdentity(config).id, /^[0-9a-f-]{36}$/);
  });

for (const kind of databaseKinds()) {
  test(`${kind}: the key of the server is created once for all processes, or is the one given`, async (t) => {
    const place = await makePlace(t, kind);
    const one = await openAt(t, place);
    await migrate(one);
    const other = await openAt(t, place);
    const config = configOf();
    t.is(await knownServerPrivateKey(config, one), null);
    t.is(await one.models.Secret.count(), 1, 'the key check alone');
    const [a, b] = await Promise.all([
      serverPrivateKey(config, one),
      serverPrivateKey(config, other),
    ]);
    t.is(a.length, 32);
    t.deepEqual(a, b);
    t.deepEqual(await serverPrivateKey(config, one), a);
    t.deepEqual(await knownServerPrivateKey(config, one), a);
    const given = Buffer.alloc(32, 0x41).toString('base64');
    const key = await serverPrivateKey(configOf({ WIREGUARD_PRIVATE_KEY: given }), one);
    t.is(Buffer.from(key).toString('base64'), given);
  });
}

test('a file that cannot be made says so, and what helps', (t) => {
  const config = fresh(t);
  // Nobody makes a file below /proc, and no folder can be read as a file.
  t.throws(() => readOrCreateKey('/proc/encryption.key'), {
    message: /^\/proc\/encryption\.key in DATA_DIR cannot be made or read \(E.*\); make the user/,
  });
  mkdirSync(join(config.dataDir, 'gateway.id'), { recursive: true });
  t.throws(() => gatewayIdentity(config), {
    message: /gateway\.id in DATA_DIR cannot be made or read \(EISDIR.*\); make the user/,
  });
});
