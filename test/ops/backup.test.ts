// Backups as an administrator makes them: of a gateway that serves and is written to, restored on
// either database, compared with what was answered; and an upgrade, with its backup.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { migrate } from '../../models/index.ts';
import { migrations } from '../../models/migrations/index.ts';
import { addDevice, addUser } from '../models/fixtures.ts';
import { programMain } from '../support/gateway/bundle.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  type TestDatabaseKind,
} from '../support/database/databases.ts';
import { backupFile, linesByTable, scratchFolder } from '../support/database/full-database.ts';
import { startGateway } from '../support/gateway/gateway-process.ts';
import { COMPILE_CACHE } from '../support/gateway/launcher.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Makes a process one that knows a further migration. */
const LATER_MIGRATION = `--import=${new URL('../support/database/later-migration.ts', import.meta.url).href}`;
const kinds = databaseKinds();

/** What a command printed, and how it ended. */
interface Ended {
  readonly status: number;
  readonly output: string;
}

/** Runs a command of the command line as a person does. */
async function run(environment: Record<string, string>, ...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [programMain(environment), ...args], {
    cwd: ROOT,
    env: { ...COMPILE_CACHE, ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number];
  return { status, output };
}

/** The environment of a gateway that never ran. */
async function environmentOf(t: ExecutionContext, kind: TestDatabaseKind, key: Buffer) {
  const { url } = await makePlace(t, kind);
  return {
    PATH: process.env['PATH'] ?? '',
    DATA_DIR: scratchFolder(t),
    DATABASE_URL: url.replace('mariadb:', 'mysql:'),
    DATABASE_ENCRYPTION_KEY: key.toString('base64'),
  };
}

for (const from of kinds)
  test.serial(
    `${from}: a backup under a write load holds what was answered before it, wherever it is restored`,
    async (t) => {
      t.timeout(300_000);
      const key = randomBytes(32);
      const settings = await environmentOf(t, from, key);
      const gateway = await startGateway(t, {
        DATABASE_URL: settings.DATABASE_URL,
        DATABASE_ENCRYPTION_KEY: settings.DATABASE_ENCRYPTION_KEY,
        MAX_DEVICES_PER_USER: '100',
        LOG_LEVEL: 'warn',
      });
      const file = join(settings.DATA_DIR, 'a.backup');
      const load = startLoad(gateway.call);
      while (load.answered().size < 20) await sleep(50);
      const answeredBefore = load.answered();
      t.regex(await gateway.command('backup', file), /a\.backup holds \d+ rows/);
      const askedAfter = load.asked();
      await load.stop();
      t.is(statSync(file).mode & 0o777, 0o600);

      // A gateway runs on that database: it is not for restoring.
      const held = await run(gateway.environment, 'restore', file, '--replace');
      t.is(held.status, 1);
      t.regex(held.output, /A gateway runs on this database/);

      for (const to of kinds) {
        const target = await environmentOf(t, to, key);
        const restored = await run(target, 'restore', file, '--json');
        t.is(restored.status, 0, restored.output);
        const database = await openAt(t, { url: target.DATABASE_URL, encryptionKey: key });
        t.deepEqual(linesByTable(await backupFile(t, database)), linesByTable(file), to);
        // A gateway on each kind of database: where there are several, on one of the other kind.
        if (to === from && kinds.length > 1) continue;
        const other = await startGateway(t, { ...target, LOG_LEVEL: 'warn' });
        const { body } = await other.call('GET', '/v0/devices');
        const devices = (body as { data: Record<string, unknown>[] }).data;
        const found = new Map(devices.map((device) => [device['id'], device]));
        for (const [id, sent] of answeredBefore)
          for (const field of ['user_id', 'name', 'public_key', 'preshared_key', 'ipv4', 'ipv6'])
            t.is(found.get(id)?.[field], sent[field], `${id} ${field}`);
        // Nothing half, and nothing that was asked for only afterwards.
        for (const name of found.values()) t.true(askedAfter.has(String(name['name'])));
      }
    },
  );

type Sent = Record<string, unknown>;

/** Makes devices as fast as answers come, four at once, until it is stopped. */
function startLoad(
  call: (
    method: string,
    path: string,
    body?: unknown,
  ) => Promise<{ status: number; body: unknown }>,
) {
  const answered = new Map<string, Sent>();
  const asked = new Set<string>();
  let isOver = false;
  const one = async (worker: number): Promise<void> => {
    for (let i = 0; !isOver; i += 1) {
      const email = `u${worker}-${i}@b.example`;
      const user = (await call('POST', '/v0/users', { user: { email } })).body as { data: Sent };
      for (let j = 0; j < 5 && !isOver; j += 1) {
        const name = `${worker}-${i}-${j}`;
        asked.add(name);
        const public_key = randomBytes(32).toString('base64');
        const device = { user_id: user.data['id'], name, public_key };
        const { status, body } = await call('POST', '/v0/devices', { device });
        const made = (body as { data: Sent }).data;
        if (status === 201) answered.set(String(made['id']), made);
      }
    }
  };
  const workers = [1, 2, 3, 4].map((worker) => one(worker));
  return {
    answered: () => new Map(answered),
    asked: () => new Set(asked),
    stop: async () => {
      isOver = true;
      await Promise.all(workers);
    },
  };
}

for (const kind of kinds) {
  test.serial(
    `${kind}: an upgrade backs up first, once, and the backup can be restored`,
    async (t) => {
      t.timeout(300_000);
      const key = randomBytes(32);
      const environment = await environmentOf(t, kind, key);
      const place = { url: environment.DATABASE_URL, encryptionKey: key };
      const folder =
        kind === 'sqlite' ? resolve(place.url.slice('sqlite:'.length), '..') : environment.DATA_DIR;
      const database = await openAt(t, place);
      await migrate(database);
      await addUser(database, { email: 'ann@b.example' });
      await database.close();

      const upgrade = { ...environment, NODE_OPTIONS: LATER_MIGRATION };
      const migrated = await run(upgrade, 'migrate');
      t.is(migrated.status, 0, migrated.output);
      const [name = '', ...more] = readdirSync(folder).filter((one) => one.endsWith('.backup'));
      const last = migrations.at(-1)?.name.slice(0, 4) ?? '';
      t.true(name.startsWith(`before-upgrade-${last}-`), name);
      t.deepEqual(more, []);
      t.true(migrated.output.includes(name));
      t.is((await run(upgrade, 'migrate')).status, 0);
      t.deepEqual(
        readdirSync(folder).filter((one) => one.endsWith('.backup')),
        [name],
      );
      const target = await environmentOf(t, kind, key);
      t.is((await run(target, 'restore', join(folder, name))).status, 0);
      const restored = await openAt(t, { url: target.DATABASE_URL, encryptionKey: key });
      t.is((await restored.models.User.findOne())?.email, 'ann@b.example');
      await addDevice(restored, await restored.models.User.findOne({ rejectOnEmpty: true }));
    },
  );

  test.serial(`${kind}: a database of a later version is refused by every command`, async (t) => {
    t.timeout(300_000);
    const key = randomBytes(32);
    const environment = await environmentOf(t, kind, key);
    const database = await openAt(t, { url: environment.DATABASE_URL, encryptionKey: key });
    const later = { name: '9999-later', up: async () => undefined };
    await migrate(database, { migrations: [...migrations, later] });
    await database.close();
    const file = join(environment.DATA_DIR, 'a.backup');
    for (const args of [['serve'], ['backup', file], ['restore', file]]) {
      const { status, output } = await run(environment, ...args);
      t.is(status, 1, args.join(' '));
      t.regex(output, /migrated by a later version of Postern \(9999-later\).* Run that version/);
    }
    t.false(existsSync(file));
  });
}

test.serial('a rotation of the key in DATA_DIR, by the command line', async (t) => {
  t.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'postern-rotate-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  // With an address for devices: a file that leads to this host would be warned about.
  const EXTERNAL_URL = 'https://vpn.example.com/';
  const environment = { PATH: process.env['PATH'] ?? '', DATA_DIR: folder, EXTERNAL_URL };
  const admin = ['admin', 'create-or-reset', '--email', 'ann@b.example'];
  t.is((await run(environment, ...admin)).status, 0);
  const device = ['device', 'create', '--email', 'ann@b.example', '--name', 'phone', '--json'];
  const made = JSON.parse((await run(environment, ...device)).output) as {
    id: string;
    file: string;
  };
  const before = readFileSync(join(folder, 'encryption.key'), 'utf8');
  const old = join(folder, 'old.backup');
  t.is((await run(environment, 'backup', old)).status, 0);
  const { status, output } = await run(environment, 'keys', 'rotate');
  t.is(status, 0, output);
  t.regex(
    output,
    /secrets are encrypted under key [0-9a-f]{8}\.\nThe earlier key is in .*encryption\.key\.[0-9a-f]{8}: e/,
  );
  t.not(readFileSync(join(folder, 'encryption.key'), 'utf8'), before);
  const shown = await run(environment, 'device', 'config', '--id', made.id);
  const psk = /^PresharedKey = .*$/m.exec(made.file)?.[0] ?? 'none';
  t.true(shown.output.includes(psk));
  // The backup from before wants the key from before, beside the new one.
  const refused = await run(environment, 'restore', old, '--replace');
  t.is(refused.status, 1);
  t.regex(refused.output, /was made with encryption key [0-9a-f]{8}, the given key is [0-9a-f]{8}/);
  const both = { ...environment, DATABASE_ENCRYPTION_KEY_OLD: before.trim() };
  t.is((await run(both, 'restore', old, '--replace')).status, 0);
  t.is((await run(both, 'keys', 'rotate')).status, 0);
  t.true((await run(environment, 'device', 'config', '--id', made.id)).output.includes(psk));
});
