// The doctor's findings inside the process's own world: settings, ports, data folder, database, keys,
// clocks. Each error is made; those of the host are in test/ops/doctor.test.ts.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { Finding } from '../../../../dataplane/index.ts';
import { checkSettings, diagnose, report } from '../../../../lib/installation/doctor/index.ts';
import { makeCertificate } from '../../../../lib/auth/saml/certificate.ts';
import {
  prepareDataDir,
  serverPrivateKey,
} from '../../../../lib/installation/setup/first-start.ts';
import {
  encryptionKeys,
  nextEncryptionKeys,
} from '../../../../lib/installation/keys/encryption-keys.ts';
import {
  beginForgettingClock,
  compactFile,
  connectDatabase,
  type Database,
  keyIdOf,
  migrate,
  readOrCreateConfiguration,
  readOrCreateSecret,
  registerGateway,
  resealSecrets,
} from '../../../../models/index.ts';
import { refreshOnDemand } from '../../../../lib/auth/saml/refresh.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { leaveFree, openOldFile } from '../../../support/database/free-pages.ts';
import { configOf } from '../../../support/api/server.ts';

type Environment = Record<string, string>;

/** What a process printed. */
interface Said {
  stdout: string;
  stderr: string;
}

const ROOT = resolve(import.meta.dirname, '../../../..');
const ROTATE = 'npm run -s postern -- keys rotate';

function folderOf(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-doctor-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let nextPort = 21_000;

const settingsIn = (folder: string): Environment => ({
  DATA_DIR: folder,
  WIREGUARD_TUN: 'off',
  HTTP_PORT: '0',
  // Tried by binding it: tests beside each other would take it from one another.
  WIREGUARD_PORT: String(nextPort++),
});

/** Opens the database that the settings name, as the command line does. */
function opening(environment: Environment): () => Promise<Database> {
  return async () => {
    const config = configOf(environment);
    const { key, older } = encryptionKeys(config);
    return connectDatabase({
      url: config.databaseUrl ?? `sqlite:${join(config.dataDir, 'postern.sqlite')}`,
      encryptionKey: key,
      olderEncryptionKeys: older,
    });
  };
}

async function examine(environment: Environment, warnings: string[] = []): Promise<Finding[]> {
  const config = configOf(environment);
  return (await diagnose({ config, warnings, openDatabase: opening(environment) })).findings;
}

/** Makes what a first start makes, as far as the doctor looks. */
async function firstStart(environment: Environment): Promise<void> {
  prepareDataDir(configOf(environment));
  const database = await opening(environment)();
  await migrate(database);
  await serverPrivateKey(configOf(environment), database);
  await database.close();
}

const of = (findings: Finding[], check: string): Finding | undefined =>
  findings.find((finding) => finding.check === check);

test('before the first start all is well, and nothing is made', async (t) => {
  const folder = join(folderOf(t), 'data');
  const findings = await examine(settingsIn(folder), ['something to think about']);
  t.false(existsSync(folder));
  t.like(of(findings, 'settings'), { level: 'warning', message: 'something to think about' });
  t.like(of(findings, 'database'), { level: 'ok' });
  t.deepEqual(
    findings.filter(({ level }) => level === 'failed'),
    [],
  );
});

test('after it the database answers, its keys open it, and the clock agrees', async (t) => {
  const environment = settingsIn(folderOf(t));
  await firstStart(environment);
  const findings = await examine(environment);
  t.is(of(findings, 'database')?.message, 'it answers, and its schema is of this version');
  t.regex(of(findings, 'keys')?.message ?? '', /public key is [A-Za-z0-9+/]{43}=$/);
  t.is(of(findings, 'clock and database')?.level, 'ok');
});

test('it says that no administrator can sign in, and which command lets one in', async (t) => {
  const environment = settingsIn(folderOf(t));
  await firstStart(environment);
  const database = await opening(environment)();
  t.teardown(() => database.close());
  const look = async () => of(await examine(environment), 'administrator');
  t.like(await look(), { level: 'ok', message: 'one will be made at the first start' });
  await readOrCreateConfiguration(database);
  t.like(await look(), { level: 'ok', message: 'one will be made at the next start' });
  await addUser(database, { email: 'boss@b.example', role: 'admin' });
  t.like(await look(), {
    level: 'warning',
    message: 'no administrator can sign in',
    fix: 'npm run -s postern -- admin create-or-reset --email boss@b.example',
  });
  await addUser(database, { email: 'chief@b.example', role: 'admin', password_hash: 'x' });
  t.like(await look(), { level: 'ok', message: 'an administrator can sign in' });
  const file = join(environment['DATA_DIR'] ?? '', 'first-administrator.txt');
  writeFileSync(file, 'secret', { mode: 0o600 });
  t.like(await look(), {
    level: 'warning',
    fix: `keep them elsewhere and delete the file: rm ${file}`,
  });
});

test('it names metadata of a SAML provider that could not be fetched', async (t) => {
  const environment = settingsIn(folderOf(t));
  await firstStart(environment);
  const database = await opening(environment)();
  t.teardown(() => database.close());
  const entry = samlEntry({ metadata: '<x/>', metadata_url: 'http://127.0.0.1:1/metadata' });
  const { id } = await readOrCreateConfiguration(database);
  await write(database, (transaction) =>
    database.models.Configuration.update(
      { saml_identity_providers: [entry] },
      { where: { id }, transaction },
    ),
  );
  t.is(of(await examine(environment), 'SAML metadata'), undefined);
  await refreshOnDemand({ database }, entry);
  const finding = of(await examine(environment), 'SAML metadata');
  t.is(finding?.level, 'warning');
  t.regex(finding?.message ?? '', /provider saml-idp were not taken .*it cannot be fetched/);
});

test('an old file with much that is free is named until it is compacted', async (t) => {
  const { place, database } = await openOldFile(t);
  const environment = {
    ...settingsIn(folderOf(t)),
    DATABASE_URL: place.url,
    DATABASE_ENCRYPTION_KEY: place.encryptionKey.toString('base64'),
  };
  const look = async () => of(await examine(environment), 'database file');
  await leaveFree(database);
  t.is(await look(), undefined, '8 MB are little');
  await leaveFree(database, 36);
  t.like(await look(), {
    level: 'warning',
    fix: 'stop the gateway, then: npm run -s postern -- database compact',
  });
  t.regex(
    (await look())?.message ?? '',
    /^3\d MiB of the 3\d MiB of .*sqlite are free, and a file/,
  );
  await compactFile(database);
  t.is(await look(), undefined);
  await leaveFree(database, 36);
  t.is(await look(), undefined, 'it shrinks by itself');
});

test('a folder that others can open is found', async (t) => {
  const folder = folderOf(t);
  chmodSync(folder, 0o755);
  const finding = of(await examine(settingsIn(folder)), 'data folder');
  t.like(finding, { level: 'warning', fix: `chmod 700 ${folder}` });
});

test('a key file that is gone is not made anew', async (t) => {
  const folder = folderOf(t);
  const environment = settingsIn(folder);
  await firstStart(environment);
  const path = join(folder, 'encryption.key');
  rmSync(path);
  const finding = of(await examine(environment), 'keys');
  t.like(finding, { level: 'failed' });
  t.regex(finding?.fix ?? '', /^restore the file from the backup.* are lost$/);
  t.false(existsSync(path));
});

test('a gateway that never started has no key, and is given none', async (t) => {
  const environment = settingsIn(folderOf(t));
  const database = await opening(environment)();
  t.teardown(() => database.close());
  await migrate(database, { checksKey: false });
  const finding = of(await examine(environment), 'keys');
  t.like(finding, {
    level: 'ok',
    message: "the gateway's own key will be made at the first start",
  });
  t.is(await database.models.Secret.count(), 0);
});

test('a rotation that was interrupted is shown until it is finished', async (t) => {
  const environment = settingsIn(folderOf(t));
  await firstStart(environment);
  t.is(of(await examine(environment), 'key rotation'), undefined);
  nextEncryptionKeys(configOf(environment));
  const finding = of(await examine(environment), 'key rotation');
  t.like(finding, { level: 'warning', fix: `stop the gateway, then: ${ROTATE}` });
  t.regex(finding?.message ?? '', /begun and not finished/);
});

test('an earlier key is shown, whether secrets need it, and when none does', async (t) => {
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const given = (key: Buffer, old?: Buffer): Environment => ({
    ...settings,
    DATABASE_ENCRYPTION_KEY: key.toString('base64'),
    ...(old === undefined ? {} : { DATABASE_ENCRYPTION_KEY_OLD: old.toString('base64') }),
  });
  const settings = settingsIn(folderOf(t));
  await firstStart(given(first));
  t.is(of(await examine(given(first)), 'key rotation'), undefined);
  const needed = of(await examine(given(second, first)), 'key rotation');
  t.like(needed, { level: 'warning', fix: `${ROTATE} --online` });
  t.true(needed?.message.includes(`earlier key (${keyIdOf(first)})`));

  const both = await opening(given(second, first))();
  t.teardown(() => both.close());
  await resealSecrets(both);
  const unneeded = of(await examine(given(second, first)), 'key rotation');
  t.like(unneeded, { level: 'warning' });
  t.regex(unneeded?.fix ?? '', /^take it away from every gateway/);

  const third = await opening(given(randomBytes(32), second))();
  t.teardown(() => third.close());
  await readOrCreateSecret(third, 'another', () => 'under a key that is lost');
  const lost = of(await examine(given(second)), 'keys');
  t.is(lost?.level, 'failed');
  t.true(lost?.message.endsWith(`not known here: ${third.keyring.keyId}`));
});

test('another key is distinguished', async (t) => {
  const environment = settingsIn(folderOf(t));
  await firstStart(environment);
  const other = { ...environment, DATABASE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') };
  const finding = of(await examine(other), 'keys');
  t.is(finding?.level, 'failed');
  t.regex(
    finding?.message ?? '',
    /^the encryption key is not that of this database: .* Restore the key/,
  );
  const [, wanted] = /with key (\w+)/.exec(finding?.message ?? '') ?? [];
  t.true(finding?.message.includes(`DATA_DIR keeps in encryption.key.${wanted})`));
});

test('a schema that is behind waits for the start, one that is ahead is refused', async (t) => {
  const environment = settingsIn(folderOf(t));
  const made = await opening(environment)();
  await made.close();
  const behind = of(await examine(environment), 'database');
  t.is(behind?.level, 'warning');
  t.regex(behind?.message ?? '', /migrations are to come: 0001-schema-of-1.0.0/);

  await firstStart(environment);
  const database = await opening(environment)();
  await database.sequelize.query(
    "INSERT INTO migrations (name, executed_at) VALUES ('9999-later', '2030-01-01 00:00:00')",
  );
  await database.close();
  const ahead = of(await examine(environment), 'database');
  t.is(ahead?.level, 'failed');
  t.regex(ahead?.message ?? '', /later version of Postern \(9999-later\)/);
});

test('a database that does not answer is shown with its setting', async (t) => {
  const DATABASE_ENCRYPTION_KEY = Buffer.alloc(32).toString('base64');
  const DATABASE_URL = 'mysql://me:hunter2@127.0.0.1:1/none';
  const environment = { ...settingsIn(folderOf(t)), DATABASE_URL, DATABASE_ENCRYPTION_KEY };
  const findings = await examine(environment);
  const finding = of(findings, 'database');
  t.is(finding?.level, 'failed');
  t.regex(finding?.message ?? '', /look at DATABASE_URL \(127\.0\.0\.1:1\)$/);
  t.false(JSON.stringify(findings).includes('hunter2'));
});

for (const kind of databaseKinds())
  test(`${kind}: a clock that was set back is found`, async (t) => {
    const database = await openDatabase(t, kind);
    const startedAt = new Date(Date.now() + 3_600_000);
    await registerGateway(database, { id: 'g', name: 'g', startedAt });
    const environment = {
      ...settingsIn(folderOf(t)),
      DATABASE_URL: 'sqlite::memory:',
      DATABASE_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    };
    const openDatabaseOnce = async (): Promise<Database> =>
      Object.assign(Object.create(database) as Database, { close: async () => undefined });
    const { findings, isWell } = await diagnose({
      config: configOf(environment),
      warnings: [],
      openDatabase: openDatabaseOnce,
    });
    t.false(isWell);
    const finding = of(findings, 'clock and database');
    t.is(finding?.level, 'failed');
    t.regex(finding?.message ?? '', /at least 3(5\d\d|600) s behind/);
  });

for (const [aheadDays, level, message] of [
  [0, 'ok', /no jump/],
  [1, 'ok', /no jump/],
  [730, 'warning', /the clock is 730 days ahead of the clock by which old rows/],
  [-2, 'warning', /the clock was set back by 2 days/],
] as const)
  test(`a clock that jumped by ${aheadDays} days is said`, async (t) => {
    const environment = settingsIn(folderOf(t));
    await firstStart(environment);
    const database = await opening(environment)();
    t.teardown(() => database.close());
    t.is(of(await examine(environment), 'forgetting')?.message, 'no old row was deleted yet');
    await beginForgettingClock(database, new Date(Date.now() - aheadDays * 86_400_000));
    const found = of(await examine(environment), 'forgetting');
    t.is(found?.level, level);
    t.regex(found?.message ?? '', message);
  });

test('a taken port and an address of somebody else’s are found', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const environment = { ...settingsIn(folderOf(t)), HTTP_PORT: String(port) };
  // What listens there answers nothing, so it is not taken for a gateway.
  server.on('connection', (socket) => socket.destroy());
  const taken = of(await examine(environment), 'HTTP port');
  t.like(taken, { level: 'failed', message: `TCP 127.0.0.1:${port} is taken by another process` });
  const foreign = of(await examine({ ...environment, HTTP_HOST: '192.0.2.1' }), 'HTTP port');
  t.is(foreign?.level, 'failed');
  t.regex(foreign?.fix ?? '', /HTTP_HOST/);
});

test('a gateway that runs on another database is distinguished from one that lost its file', async (t) => {
  let status = 'ready';
  const server = createHttpServer((_request, answer) => answer.end(JSON.stringify({ status })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const environment = { ...settingsIn(folderOf(t)), HTTP_PORT: String(port) };
  const elsewhere = of(await examine(environment), 'database');
  t.like(elsewhere, { level: 'warning' });
  t.regex(elsewhere?.fix ?? '', /with the settings of that gateway/);
  status = 'database_unavailable';
  const gone = of(await examine(environment), 'database');
  t.like(gone, { level: 'failed' });
  t.regex(
    gone?.message ?? '',
    /postern\.sqlite is gone, and the gateway that runs takes no writes$/,
  );
});

test('a certificate is checked by its end', async (t) => {
  const folder = folderOf(t);
  const [HTTP_TLS_CERT, HTTP_TLS_KEY] = [join(folder, 'c'), join(folder, 'k')];
  const environment = { ...settingsIn(folder), HTTP_TLS_CERT, HTTP_TLS_KEY };
  t.is(of(await examine(environment), 'certificate')?.level, 'failed');
  const year = 365.25 * 86_400_000;
  for (const [made, level] of [
    [0, 'ok'],
    [20 * year - 5 * 86_400_000, 'warning'],
    [21 * year, 'failed'],
  ] as const) {
    const pair = await makeCertificate(new Date(Date.now() - made), Uint8Array.of(1));
    writeFileSync(HTTP_TLS_CERT, pair.certificate);
    writeFileSync(HTTP_TLS_KEY, pair.privateKey);
    t.is(of(await examine(environment), 'certificate')?.level, level);
  }
});

const MIB = 1_048_576;
for (const [free, level, says] of [
  [0, 'failed', /^0 MiB are free on the disk of \/.*: writes are about to fail$/],
  [16 * MIB - 1, 'failed', /^15 MiB /],
  [16 * MIB, 'warning', /^16 MiB .*: an upgrade, which backs up first, may fail$/],
  [256 * MIB - 1, 'warning', /^255 MiB /],
  [256 * MIB, 'ok', /^256 MiB /],
  [3.5 * 1_024 * MIB, 'ok', /^3 GiB are free on the disk of \/[^:]*$/],
  // Nobody knows.
  [null, undefined, /^$/],
] as const)
  test(`a disk with ${free} bytes left`, async (t) => {
    const environment = settingsIn(folderOf(t));
    const config = configOf(environment);
    const patient = { config, warnings: [], openDatabase: opening(environment) };
    const { findings, isWell } = await diagnose({ ...patient, roomOf: () => free });
    const finding = of(findings, 'disk space');
    t.is(finding?.level, level);
    t.regex(finding?.message ?? '', says);
    t.is(isWell, level !== 'failed', JSON.stringify(findings));
  });

test('one disk is shown once, whatever folders are on it', async (t) => {
  const folder = folderOf(t);
  const [data, there] = [join(folder, 'data'), join(folder, 'there')];
  for (const path of [data, there]) mkdirSync(path, { mode: 0o700 });
  const environment = { ...settingsIn(data), DATABASE_URL: `sqlite:${there}/postern.sqlite` };
  const findings = await examine(environment);
  t.is(findings.filter(({ check }) => check === 'data folder').length, 2);
  t.is(findings.filter(({ check }) => check === 'disk space').length, 1);
});

test('settings with errors are findings like all others', (t) => {
  const findings = checkSettings(['HTTP_PORT is no number'], ['HTTP_PROT is unknown']);
  t.like(findings[0], { check: 'settings', level: 'failed', message: 'HTTP_PORT is no number' });
  t.regex(findings[0]?.fix ?? '', /docs\/reference\/settings\.md/);
  t.like(findings[1], { check: 'settings', level: 'warning', message: 'HTTP_PROT is unknown' });
});

for (const [args, starts] of [
  [['--json'], '{"well":false,"findings":[{"check":"settings","level":"failed","message":"HTTP_P'],
  [[], 'failed   settings'],
] as const)
  test(`doctor ${args.join('')} answers on standard output where settings have errors`, async (t) => {
    const env = { PATH: process.env['PATH'], DATA_DIR: folderOf(t), HTTP_PORT: 'many' };
    const words = ['lib/start/main.ts', 'doctor', ...args];
    const { code, stdout, stderr } = await new Promise<{ code: unknown } & Said>((settle) => {
      execFile(process.execPath, words, { cwd: ROOT, env }, (error, stdout, stderr) =>
        settle({ code: error?.code, stdout, stderr }),
      );
    });
    t.is(code, 1);
    t.is(stderr, '');
    t.true(stdout.startsWith(starts), stdout);
  });

test('people read lines, programs read findings', (t) => {
  const findings: Finding[] = [
    { check: 'tun', level: 'ok', message: 'there', fix: null },
    { check: 'nft', level: 'failed', message: 'gone', fix: 'install it' },
  ];
  const { text, data } = report(findings, false);
  t.deepEqual(
    text.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' ')),
    ['ok tun there', 'failed nft gone', 'fix: install it'],
  );
  t.deepEqual(data, { well: false, findings });
});
