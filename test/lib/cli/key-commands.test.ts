// The command `keys rotate`, with the key in DATA_DIR and in the environment, refused and
// interrupted anywhere.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Config } from '../../../config/index.ts';
import {
  type EncryptionKeys,
  encryptionKeys,
} from '../../../lib/installation/keys/encryption-keys.ts';
import { rotateKeys } from '../../../lib/cli/key-commands.ts';
import type { Command } from '../../../lib/cli/run.ts';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import { type Database, migrate, readDevices } from '../../../models/index.ts';
import { EncryptionKeyError } from '../../../models/storage/encryption.ts';
import { GatewayRunsError } from '../../../models/queries/gateways.ts';
import { addDevice, addUser } from '../../models/fixtures.ts';
import { databaseKinds, makePlace, openAt, type Place } from '../../support/database/databases.ts';
import { scratchFolder } from '../../support/database/full-database.ts';
import { enterGateway, startBeating } from '../../support/database/heartbeat.ts';
import { configOf } from '../../support/api/server.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

async function commandOf(line: string): Promise<Command> {
  const parsed = await parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
  return parsed.command;
}

/** A place that is opened with the keys of a configuration, as a process does at its start. */
function opener(t: ExecutionContext, place: Place) {
  return ({ key, older }: EncryptionKeys) =>
    openAt(t, { ...place, encryptionKey: key }, { olderEncryptionKeys: older });
}

async function presharedKeys(database: Database): Promise<(string | null)[]> {
  return (await readDevices(database)).map(({ preshared_key }) => preshared_key);
}

for (const kind of databaseKinds()) {
  test(`${kind}: with the key in DATA_DIR, all is under a new one that a start finds`, async (t) => {
    const { config, database, open, keys } = await start(t, kind);
    const before = await presharedKeys(database);
    const rotation = { config, database, open, log, watchMs: 0 };
    const { text, data } = await rotateKeys(rotation, await commandOf('keys rotate'));
    const after = encryptionKeys(config);
    t.notDeepEqual(after.key, keys.key);
    t.deepEqual(after.older, []);
    const opened = await open(after);
    await migrate(opened);
    t.deepEqual(await presharedKeys(opened), before);
    t.like(data, { key: opened.keyring.keyId, resealed: 3, broken: [] });
    t.regex(
      text,
      /^3 secrets are encrypted under key [0-9a-f]{8}\.\nThe earlier key is in .*: earlier backups/,
    );
    await t.throwsAsync(migrate(await open(keys)), { instanceOf: EncryptionKeyError });
  });

  test(`${kind}: interrupted at any statement, the next start and the next run go well`, async (t) => {
    let crashes = 0;
    for (let statement = 0; ; statement += 1) {
      const { config, database, open } = await start(t, kind);
      const before = await presharedKeys(database);
      const rotation = {
        config,
        database,
        open: async (keys: EncryptionKeys) => dyingAt(await open(keys), statement),
        log,
        watchMs: 0,
      };
      const crashed = await rotateKeys(rotation, await commandOf('keys rotate')).then(
        () => false,
        () => true,
      );
      const restarted = await open(encryptionKeys(config));
      await migrate(restarted);
      t.deepEqual(await presharedKeys(restarted), before, `after statement ${statement}`);
      await rotateKeys({ ...rotation, database: restarted, open }, await commandOf('keys rotate'));
      const again = await open(encryptionKeys(config));
      await migrate(again);
      t.deepEqual(await presharedKeys(again), before);
      t.false(existsSync(join(config.dataDir, 'encryption.key.new')));
      if (!crashed) break;
      crashes += 1;
    }
    t.true(crashes > 8, `${crashes} crashes`);
  });

  test(`${kind}: with keys of the environment it says what to set, then takes both`, async (t) => {
    const place = await makePlace(t, kind);
    const open = opener(t, place);
    const [first, second] = [place.encryptionKey, randomBytes(32)];
    const database = await open({ key: first, older: [], isUnfinished: false });
    await migrate(database);
    await addDevice(database, await addUser(database));
    const before = await presharedKeys(database);
    const settings = {
      DATA_DIR: scratchFolder(t),
      DATABASE_ENCRYPTION_KEY: first.toString('base64'),
    };
    const one = { config: configOf(settings), database, open, log, watchMs: 0 };
    await t.throwsAsync(rotateKeys(one, await commandOf('keys rotate')), {
      message: /^set DATABASE_ENCRYPTION_KEY to a new key .* DATABASE_ENCRYPTION_KEY_OLD to the/,
    });
    const config = configOf({
      ...settings,
      DATABASE_ENCRYPTION_KEY: second.toString('base64'),
      DATABASE_ENCRYPTION_KEY_OLD: first.toString('base64'),
    });
    const both = await open(encryptionKeys(config));
    await migrate(both);
    const id = await enterGateway(both);
    const beating = startBeating(t, both, id);
    const two = { config, database: both, open, log, watchMs: 400 };
    await t.throwsAsync(rotateKeys(two, await commandOf('keys rotate')), {
      instanceOf: GatewayRunsError,
    });
    const { text } = await rotateKeys(two, await commandOf('keys rotate --online'));
    await beating.stop();
    t.regex(text, /Remove DATABASE_ENCRYPTION_KEY_OLD from every gateway/);
    const after = await open({ key: second, older: [], isUnfinished: false });
    await migrate(after);
    t.deepEqual(await presharedKeys(after), before);
  });

  test(`${kind}: with the key in DATA_DIR no gateway may run, and nothing is begun`, async (t) => {
    const { config, database, open } = await start(t, kind);
    const id = await enterGateway(database);
    const beating = startBeating(t, database, id);
    const rotation = { config, database, open, log, watchMs: 400 };
    const refused = { instanceOf: GatewayRunsError };
    await t.throwsAsync(rotateKeys(rotation, await commandOf('keys rotate')), refused);
    await t.throwsAsync(rotateKeys(rotation, await commandOf('keys rotate --online')), {
      message: /a gateway that runs knows no other: stop it/,
    });
    t.false(encryptionKeys(config).isUnfinished);
    await beating.stop();
  });
}

async function start(t: ExecutionContext, kind: Parameters<typeof makePlace>[1]) {
  const config: Config = configOf({ DATA_DIR: scratchFolder(t) });
  const keys = encryptionKeys(config);
  const open = opener(t, await makePlace(t, kind));
  const database = await open(keys);
  await migrate(database);
  const user = await addUser(database);
  await addDevice(database, user);
  await addDevice(database, user);
  return { config, keys, open, database };
}

/** Fails every statement from the given one on, as a dying process would. */
function dyingAt(database: Database, statement: number): Database {
  let count = 0;
  database.sequelize.addHook('beforeQuery', (options) => {
    if ('completesTransaction' in options) return;
    count += 1;
    if (count > statement) throw new Error('died');
  });
  return database;
}
