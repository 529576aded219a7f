// What the first steps load: a command that needs little is there soon, and a gateway serves devices
// before it loads what only requests need.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { COMPILE_CACHE, WITHOUT_WARM_UP } from '../../support/gateway/launcher.ts';
import { obeyedHere } from '../../support/gateway/obeyed-command.ts';
import { freeUdpPort } from '../../support/network/free-port.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const ROOT_URL = `file://${ROOT}/`;
/**
 * Writes the address of every module that is loaded into a file, in the order of loading. At the end
 * it adds the client behind `fetch`, if Node loaded that.
 */
const HOOK = `
  import { registerHooks } from 'node:module';
  import { appendFileSync } from 'node:fs';
  const FETCH = 'internal/deps/undici/undici';
  process.on('exit', () => {
    if (process.moduleLoadList.includes('NativeModule ' + FETCH))
      appendFileSync(process.env.LOADED_FILE, '${ROOT_URL}' + FETCH);
  });
  registerHooks({
    load(url, context, next) {
      appendFileSync(process.env.LOADED_FILE, url + '\\n');
      return next(url, context);
    },
  });`;

/** A folder for a command, with an empty database in `data`. */
function newFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-loaded-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  // Most commands make no database where none is; an empty file is one.
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  writeFileSync(join(folder, 'data/postern.sqlite'), '');
  return folder;
}

interface Loaded {
  loaded: string[];
  stderr: string;
}

/** Runs one command after the other, each as lib/start/main.ts does. */
const EACH = `
  for (const [i, words] of JSON.parse(process.env.COMMANDS).entries()) {
    process.argv = [process.execPath, 'postern', ...words];
    await import('${ROOT_URL}lib/start/main.ts?' + i);
  }`;

/** Runs a command to its end, a gateway until it serves; the modules of this repository, by path. */
async function loadedBy(t: ExecutionContext, ...words: string[]): Promise<string[]> {
  return (await loadedIn(t, ['lib/start/main.ts', ...words])).loaded;
}

/** What commands load together that run in one process: something only if one of them loads it. */
async function loadedByAll(t: ExecutionContext, commands: readonly string[][]): Promise<Loaded> {
  const COMMANDS = JSON.stringify(commands);
  return loadedIn(t, ['--input-type=module', '--eval', EACH], { COMMANDS });
}

async function loadedIn(
  t: ExecutionContext,
  program: readonly string[],
  environment: Record<string, string> = {},
): Promise<Loaded> {
  const folder = newFolder(t);
  const file = join(folder, 'loaded');
  const hook = `data:text/javascript,${encodeURIComponent(HOOK)}`;
  const child = spawn(process.execPath, ['--import', hook, ...program], {
    cwd: ROOT,
    env: {
      ...COMPILE_CACHE,
      ...WITHOUT_WARM_UP,
      ...environment,
      LOADED_FILE: file,
      DATA_DIR: join(folder, 'data'),
      WIREGUARD_TUN: 'off',
      WIREGUARD_PORT: String(await freeUdpPort()),
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: '0',
    },
  });
  child.stdout.on('data', (chunk: Buffer) => {
    if (chunk.includes('Postern serves')) child.kill('SIGTERM');
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  await once(child, 'close');
  const loaded = readFileSync(file, 'utf8')
    .split('\n')
    .filter((url) => url.startsWith(ROOT_URL))
    .map((url) => url.slice(ROOT_URL.length));
  return { loaded, stderr };
}

/** Those of the modules that are in one of the places. */
function among(loaded: readonly string[], places: readonly string[]): string[] {
  return loaded.filter((path) => places.some((place) => path.startsWith(place)));
}

/** What costs most to load. */
const DATABASE = ['models/', 'node_modules/sequelize/'];
const FETCH = 'internal/deps/undici/';
const REQUESTS = [
  'lib/start/server.ts',
  'lib/api/',
  'lib/web/',
  ...['@hapi/hapi', '@node-saml', 'openid-client', 'eta'].map((name) => `node_modules/${name}/`),
];

test('help, the version and what was mistyped load the command line alone', async (t) => {
  const commands = [
    ['help'],
    ['device', 'list', '--help'],
    ['--version'],
    ['version'],
    ['completion', 'bash'],
    ['completion', 'ksh'],
    ['man'],
    ['token', 'make-bootstrap'],
    ['devise', 'list'],
    ['rule'],
    ['device', 'list', '--nope'],
    ['device', 'delete'],
    ['rule', 'list', '--email', 'a@b', '--group', 'g'],
    ['audit', 'list', '--limit', 'many'],
    ['audit', 'list', '--since', 'lately'],
  ];
  const { loaded, stderr } = await loadedByAll(t, commands);
  t.is(among(loaded, ['lib/start/main.ts?']).length, commands.length, stderr);
  t.true(loaded.includes('lib/cli/cli.ts'));
  // What was mistyped is compared with what there is.
  const guessing = 'node_modules/fastest-levenshtein/mod.js';
  const others = loaded.filter(
    (path) =>
      path !== guessing &&
      !/^lib\/(start\/(main\.ts\?\d+|fingerprint\.ts|made-of\.ts|obey-alone\.ts|print\.ts)$|cli\/|kit\/(validation\/texts\.ts$|process\/))/.test(
        path,
      ),
  );
  t.deepEqual(others, []);
});

test('a command that asks the gateway loads no database, no data plane and no requests', async (t) => {
  const commands = [
    ['explain', 'laptop', '192.0.2.1'],
    ['diagnose'],
    ['flows'],
    ['refusals'],
    ['traffic'],
    ['capture', 'laptop'],
    ['rule', 'delete', '--id', 'x', '--dry-run'],
  ];
  const { loaded, stderr } = await loadedByAll(t, commands);
  t.true(loaded.includes('lib/cli/ask-gateway.ts'));
  t.is(stderr.split('no gateway runs here').length - 1, commands.length, stderr);
  t.deepEqual(among(loaded, [...DATABASE, ...REQUESTS, 'dataplane/', FETCH]), []);
});

test('a command that works on the database loads its own file, and no gateway', async (t) => {
  const loaded = await loadedBy(t, 'device', 'list');
  t.true(loaded.includes('models/index.ts'));
  t.deepEqual(
    among(loaded, ['lib/cli/']).filter((path) => /-(commands|list)\.ts$/.test(path)),
    ['lib/cli/live-commands.ts', 'lib/cli/device-list.ts'],
  );
  const needless = [
    ...REQUESTS,
    'lib/kit/http/',
    'lib/cli/perform.ts',
    'dataplane/gateway/gateway.ts',
    'dataplane/worker/worker.ts',
    'lib/start/serve.ts',
    'lib/installation/imports/',
    'lib/kit/mail/',
    'node_modules/nodemailer/',
    'node_modules/bcrypt/',
  ];
  t.deepEqual(among(loaded, needless), []);
  // The thread of SQLite starts while the rest is loaded.
  const [thread, models] = ['models/storage/sqlite-calls.ts', 'models/index.ts'].map((path) =>
    loaded.indexOf(path),
  );
  t.true((thread ?? -1) >= 0 && (thread ?? 0) < (models ?? 0), `${thread} and ${models}`);
});

/** What a gateway loads when somebody first signs in by a provider, wants a code or a mail. */
const UNASKED_PACKAGES = [
  '@node-saml',
  '@xmldom',
  'jose',
  'mysql2',
  'nodemailer',
  'oauth4webapi',
  'openid-client',
  'otpauth',
  'uqr',
  'xml-crypto',
];

test('the start of the data plane waits for nothing that only requests need', async (t) => {
  const loaded = await loadedBy(t, 'serve');
  const at = loaded.indexOf('dataplane/gateway/gateway.ts');
  t.true(at > 0 && loaded.indexOf('models/index.ts') > 0);
  t.deepEqual(among(loaded.slice(0, at), REQUESTS), []);
  t.true(loaded.indexOf('lib/start/server.ts') > at);
  // Nothing in the settings asks for these.
  const unasked = [
    'lib/kit/mail/',
    'lib/api/openapi/document.ts',
    FETCH,
    ...UNASKED_PACKAGES.map((name) => `node_modules/${name}/`),
  ];
  t.deepEqual(among(loaded, unasked), []);
});

test('wrong usage that is seen late ends with 2 too, and a refusal with 1', async (t) => {
  const dataDir = join(newFolder(t), 'data');
  const id = '01900000-0000-7000-8000-000000000001';
  const table: [code: number, line: string][] = [
    [2, 'token create --email a@b.example --name n --scopes bogus'],
    [2, 'user limit --email a@b.example'],
    [2, `device limit --id ${id} --down fast`],
    [2, `rule update --id ${id}`],
    [2, `rule update --id ${id} --dry-run`],
    [2, 'configuration set nope=1'],
    [2, 'traffic laptop --user a@b.example'],
    [1, 'token create --email a@b.example --name n'],
    [1, `rule update --id ${id} --staged`],
    [1, 'flows'],
  ];
  for (const [code, line] of table) {
    const { status, stderr } = await obeyedHere(line.split(' '), { DATA_DIR: dataDir });
    t.is(status, code, `${line}: ${stderr}`);
  }
  // The code of a process is what its command came to.
  for (const [code, line] of [table[1]!, table[7]!]) {
    const child = spawn(process.execPath, ['lib/start/main.ts', ...line.split(' ')], {
      cwd: ROOT,
      env: { ...COMPILE_CACHE, DATA_DIR: dataDir },
      stdio: 'ignore',
    });
    t.deepEqual(await once(child, 'close'), [code, null], line);
  }
});
