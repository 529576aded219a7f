// The whole process: its command line, its start with real sockets, and its stop. The TUN is off,
// so no rights are needed. Commands that judge no process are obeyed in this one.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { serve, type Running } from '../../../lib/start/serve.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { lockSqliteFile } from '../../support/database/sqlite-lock.ts';
import { addon } from '../../support/dataplane/native.ts';
import { configOf, type LogLine, logInto, newKey } from '../../support/api/server.ts';
import { COMPILE_CACHE, WITHOUT_WARM_UP } from '../../support/gateway/launcher.ts';
import { type Ended, obeyedHere } from '../../support/gateway/obeyed-command.ts';
import { until } from '../../support/gateway/postern.ts';
import { freeUdpPort } from '../../support/network/free-port.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const TOKEN = `pst_${'s'.repeat(43)}`;

const settings = {
  ...WITHOUT_WARM_UP,
  WIREGUARD_TUN: 'off',
  DATAPLANE_ENGINE: addon === null ? 'typescript' : 'native',
  HTTP_HOST: '127.0.0.1',
  HTTP_PORT: '0',
  DEFAULT_ADMIN_EMAIL: 'admin@example.com',
  DEFAULT_ADMIN_PASSWORD: 'correct horse battery',
  BOOTSTRAP_API_TOKEN: TOKEN,
};

function dataDir(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-serve-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Served {
  running: Running;
  log: LogLine[];
  call: (method: string, path: string, body?: object) => Promise<Response>;
}

async function start(
  t: ExecutionContext,
  changes: Record<string, string> = {},
  { hang = false } = {},
): Promise<Served> {
  const database = await openDatabase(t, 'sqlite');
  const log: LogLine[] = [];
  const config = configOf({
    ...settings,
    DATA_DIR: dataDir(t),
    WIREGUARD_PORT: String(await freeUdpPort()),
    ...changes,
  });
  const running = await serve(config, database, logInto(log), { passwordCost: 4 });
  t.teardown(() => running.stop());
  // From now on the database answers no statement until the test ends. Then it answers all of them,
  // because a database with an open transaction cannot be closed.
  if (hang) {
    const { sequelize } = database;
    const query = sequelize.query.bind(sequelize) as (...args: unknown[]) => Promise<unknown>;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    sequelize.query = (async (...args: unknown[]) => {
      await released;
      return query(...args);
    }) as typeof sequelize.query;
    t.teardown(release);
  }
  const call = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${running.address}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return { running, log, call };
}

// ---- in this process ---------------------------------------------------------------------------

test.serial('a write is answered once the data plane obeys it', async (t) => {
  const { call, log } = await start(t);
  t.deepEqual(await (await call('GET', '/readyz')).json(), {
    status: 'ready',
    tun: null,
    masquerade: false,
    egress: 'none',
    egress_reason: 'WIREGUARD_TUN=off',
  });
  const rule = { rule: { destination: '192.0.2.0/24', action: 'accept' } };
  const made = await call('POST', '/v0/rules', rule);
  t.is(made.status, 201);
  t.is(made.headers.get('postern-applied'), 'true');
  t.deepEqual(
    log.filter(({ level }) => level === 'warn' || level === 'error'),
    [],
  );
});

test.serial('a stop ends everything once, and refuses requests that come meanwhile', async (t) => {
  const { running, call } = await start(t);
  await Promise.all([running.stop(), running.stop()]);
  await t.throwsAsync(call('GET', '/readyz'));
  await running.stop();
});

test.serial('a port that is in use is named, and the start is undone', async (t) => {
  const taken = createTcpServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as { port: number };
  const wireguardPort = await freeUdpPort();
  await t.throwsAsync(
    start(t, { HTTP_PORT: String(port), WIREGUARD_PORT: String(wireguardPort) }),
    { message: new RegExp(`^TCP 127\\.0\\.0\\.1:${port} is taken; .*HTTP_PORT`) },
  );
  // The data plane had been started; its port is free again.
  const socket = createSocket('udp4').bind(wireguardPort);
  await t.notThrowsAsync(once(socket, 'listening'));
  socket.close();
});

test.serial('a WireGuard port that is in use is named as well', async (t) => {
  const taken = createSocket('udp4').bind(0);
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address();
  await t.throwsAsync(start(t, { WIREGUARD_PORT: String(port) }), {
    message: new RegExp(`^UDP port ${port} is taken; .*WIREGUARD_PORT`),
  });
});

// ---- as a process ------------------------------------------------------------------------------

/** Runs `postern` with these words to its end, as a process. */
async function postern(
  words: readonly string[],
  environment: Record<string, string> = {},
  stdin = '',
): Promise<Ended> {
  const child = spawn(process.execPath, ['lib/start/main.ts', ...words], {
    cwd: ROOT,
    env: { ...COMPILE_CACHE, ...environment },
  });
  child.stdin.end(stdin);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { status: child.exitCode, stdout, stderr };
}

test.serial('help is printed, and wrong usage has another exit code than a failure', async (t) => {
  const help = await postern(['help']);
  t.is(help.status, 0);
  t.regex(help.stdout, /token create/);
  const wrong = await postern(['token', 'create']);
  t.is(wrong.status, 2);
  t.regex(wrong.stderr, /EMAIL is missing; usage: postern token create/);
  t.is(wrong.stdout, '');
});

test.serial('all wrong settings are reported at once, and nothing is created', async (t) => {
  const folder = join(dataDir(t), 'data');
  const environment = {
    HTTP_PORT: 'http',
    WIREGUARD_MTU: '1',
    DATA_DIR: folder,
    LOCAL_AUTH_ENABLED: 'perhaps',
    TRUSTED_PROXY: '127.0.0.1',
  };
  const { status, stderr } = await postern(['serve'], environment);
  t.is(status, 1);
  t.regex(stderr, /^Postern cannot start:/);
  t.regex(stderr, /HTTP_PORT/);
  t.regex(stderr, /WIREGUARD_MTU/);
  t.regex(stderr, /TRUSTED_PROXY is not a setting .* is TRUSTED_PROXIES meant\?/);
  t.regex(
    stderr,
    /LOCAL_AUTH_ENABLED is invalid; got "perhaps"; for example LOCAL_AUTH_ENABLED=true/,
  );
  t.false(existsSync(folder));
});

test.serial('commands share the database of the data folder; --json is for programs', async (t) => {
  const environment = { DATA_DIR: dataDir(t) };
  const email = ['--email', 'a@b.example'];
  const reset = ['admin', 'create-or-reset', ...email, '--password-stdin', '--json'];
  const made = await postern(reset, environment, 'correct horse battery\n');
  t.deepEqual(JSON.parse(made.stdout), { email: 'a@b.example' }, made.stderr);
  const create = ['token', 'create', ...email, '--name', 'ci', '--json'];
  const { id, token } = JSON.parse((await obeyedHere(create, environment)).stdout) as CreatedToken;
  t.regex(token, /^pst_/);
  const list = await obeyedHere(['token', 'list', '--json'], environment);
  t.like(JSON.parse(list.stdout), [{ id, email: 'a@b.example', name: 'ci' }]);
  t.is((await obeyedHere(['token', 'revoke', id], environment)).status, 0);
  const again = await obeyedHere(['token', 'revoke', id], environment);
  t.is(again.status, 1);
  t.regex(again.stderr, /^there is no token/);
  const audit = await obeyedHere(['audit', 'list', '--json'], environment);
  const entries = JSON.parse(audit.stdout) as { actor: string; action: string; kind: string }[];
  t.deepEqual(
    entries.slice(-3).map(({ actor, action, kind }) => `${actor}: ${kind} ${action}`),
    ['user create', 'api_token create', 'api_token delete'].map((what) => `command_line: ${what}`),
  );
});

test.serial('a command that can make no database says which setting to check', async (t) => {
  const environment = { DATA_DIR: dataDir(t), DATABASE_URL: 'sqlite:/dev/null/x.sqlite' };
  const { status, stderr } = await obeyedHere(['migrate'], environment);
  t.is(status, 1);
  t.regex(stderr, /look at DATABASE_URL \(\/dev\/null\/x\.sqlite\)\n$/);
});

test.serial('a command that finds no database makes none, and says what to set', async (t) => {
  const folder = join(dataDir(t), 'data');
  const making = ['user', 'create', '--email', 'a@b.example', '--no-password'];
  for (const words of [['user', 'list'], making, ['backup', join(folder, 'a')]]) {
    const { status, stdout, stderr } = await obeyedHere(words, { DATA_DIR: folder });
    t.is(status, 1);
    t.is(stdout, '');
    t.is(
      stderr,
      `there is no database in ${folder}; set DATA_DIR as the gateway has it, or start the gateway, which makes one\n`,
    );
  }
  const named = { DATA_DIR: folder, DATABASE_URL: `sqlite:${folder}/x.sqlite` };
  const { stderr } = await obeyedHere(['user', 'list'], named);
  t.regex(stderr, /^there is no database at .*\/x\.sqlite; set DATABASE_URL as the gateway has it/);
  t.false(existsSync(folder));
});

test.serial(
  'a database that is made for an administrator before the first start is named',
  async (t) => {
    const folder = join(dataDir(t), 'data');
    const words = ['admin', 'create-or-reset', '--email', 'a@b.example'];
    const { status, stderr } = await obeyedHere(words, { DATA_DIR: folder });
    t.is(status, 0, stderr);
    t.true(
      stderr.startsWith(
        `a database is made in ${folder}; if the gateway has another one: set DATA_DIR as the gateway has it\n`,
      ),
      stderr,
    );
    t.true(existsSync(join(folder, 'postern.sqlite')));
    t.notRegex((await obeyedHere(words, { DATA_DIR: folder })).stderr, /a database is made/);
  },
);

interface CreatedToken {
  id: string;
  token: string;
}

test.serial(
  '`serve` warns of an address that no client can reach; other commands do not',
  async (t) => {
    const check = await obeyedHere(['check-config'], settings);
    t.regex(check.stderr, /^EXTERNAL_URL is http:.*set EXTERNAL_URL/);
    const folder = { DATA_DIR: dataDir(t) };
    t.is((await obeyedHere(['migrate'], folder)).status, 0);
    const list = await obeyedHere(['token', 'list'], folder);
    t.is(list.status, 0);
    t.false(list.stderr.includes('EXTERNAL_URL'));
  },
);

test.serial('an option that a command does not have is wrong usage', async (t) => {
  const { status, stderr } = await postern(['migrate', '--name', 'foo'], { DATA_DIR: dataDir(t) });
  t.is(status, 2);
  t.regex(stderr, /^--name is not an option of migrate; usage: postern migrate/);
});

test.serial('check-config shows what is in force, and no secret', async (t) => {
  const { stdout, status } = await obeyedHere(['check-config', '--json'], settings);
  t.is(status, 0);
  t.like(JSON.parse(stdout), { WIREGUARD_TUN: 'off' });
  t.false(stdout.includes(TOKEN));
  t.false(stdout.includes('correct horse'));
});

test.serial('a single wrong variable keeps the gateway from starting', async (t) => {
  const { status, stderr } = await postern(['serve'], {
    DATA_DIR: dataDir(t),
    VPN_SESSION_DURATION: 'a day',
  });
  t.is(status, 1);
  t.regex(stderr, /^Postern cannot start:\n {2}VPN_SESSION_DURATION is invalid; got "a day"/);
});

test.serial('a command asks the gateway that runs, and says where none does', async (t) => {
  const environment = { DATA_DIR: dataDir(t) };
  const words = ['explain', 'laptop', '192.0.2.1', 'tcp/443'];
  const alone = await obeyedHere(words, environment);
  t.is(alone.status, 1);
  t.regex(alone.stderr, /^no gateway runs here/);
  const { running, call } = await start(t, environment);
  const device = { user_id: await ownId(call), name: 'laptop', public_key: newKey() };
  const made = await call('POST', '/v0/devices', { device });
  t.is(made.status, 201, await made.text());
  const { status, stdout, stderr } = await obeyedHere([...words, '--json'], environment);
  t.is(status, 0, stderr);
  // There is no TUN, so nothing leaves the gateway.
  t.like(JSON.parse(stdout), { verdict: 'drop', reason: 'no_tun' });
  await running.stop();
  t.regex((await obeyedHere(words, environment)).stderr, /^no gateway runs here/);
});

/** Starts a gateway as a process. */
async function spawnGateway(
  t: ExecutionContext,
  folder: string,
): Promise<ChildProcessByStdio<null, Readable, Readable>> {
  const child = spawn(process.execPath, ['lib/start/main.ts', 'serve'], {
    cwd: ROOT,
    env: {
      ...COMPILE_CACHE,
      ...settings,
      DATA_DIR: folder,
      WIREGUARD_PORT: String(await freeUdpPort()),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

interface ServingProcess {
  child: ChildProcessByStdio<null, Readable, Readable>;
  output: () => string;
}

/** Waits until a gateway that starts as a process serves. */
async function untilServes(child: ServingProcess['child']): Promise<ServingProcess> {
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  while (!output.includes('Postern serves')) await once(child.stdout, 'data');
  return { child, output: () => output };
}

/** Starts a gateway as a process and waits until it serves. */
async function serveOn(t: ExecutionContext, folder: string): Promise<ServingProcess> {
  return untilServes(await spawnGateway(t, folder));
}

/** Sends a signal to a gateway that serves; it undoes all and ends well. */
async function stopsCleanly(
  t: ExecutionContext,
  { child, output }: ServingProcess,
  signal: NodeJS.Signals,
): Promise<void> {
  child.kill(signal);
  await once(child, 'close');
  t.true(output().includes('Postern stops'), output());
  t.true(output().includes('Postern has stopped'), output());
  t.is(child.exitCode, 0, output());
}

test.serial(
  'of two gateways that start on a folder in one moment, one serves, until a hangup',
  async (t) => {
    const folder = dataDir(t);
    t.is((await obeyedHere(['migrate'], { DATA_DIR: folder })).status, 0);
    const both = await Promise.all([spawnGateway(t, folder), spawnGateway(t, folder)]);
    const served = both.map((child) => untilServes(child));
    const ended = await Promise.race(
      both.map(async (child) => {
        await once(child, 'exit');
        return child;
      }),
    );
    t.is(ended.exitCode, 1);
    const [first] = both.filter((child) => child !== ended);
    await served[both.indexOf(first!)];
    t.is(first!.exitCode, null);
    t.is((await obeyedHere(['flows'], { DATA_DIR: folder })).status, 0, 'it serves');

    // Nor is a gateway started later, unless the first was killed.
    const second = { ...settings, DATA_DIR: folder, WIREGUARD_PORT: String(await freeUdpPort()) };
    const { status, stderr } = await postern(['serve'], second);
    t.is(status, 1);
    t.is(
      stderr,
      `a gateway already runs on this DATA_DIR (${folder}/gateway.lock is locked); stop it, or give this one a DATA_DIR of its own\n`,
    );
    t.is((await obeyedHere(['flows'], { DATA_DIR: folder })).status, 0, 'the first one serves on');
    first!.kill('SIGKILL');
    await once(first!, 'close');
    t.true(existsSync(join(folder, 'gateway.sock')));
    const third = await serveOn(t, folder);
    t.is((await obeyedHere(['flows'], { DATA_DIR: folder })).status, 0);
    await stopsCleanly(t, third, 'SIGHUP');
    t.false(existsSync(join(folder, 'gateway.sock')));
  },
);

async function ownId(call: Served['call']): Promise<string> {
  const { data } = (await (await call('GET', '/v0/users')).json()) as { data: { id: string }[] };
  return data[0]?.id ?? '';
}

// A hangup stops the third gateway on a folder above, SIGTERM what `npm start` runs below.
test.serial(
  'Ctrl-C that arrives twice, from the terminal and from npm, stops it once',
  async (t) => {
    const { child, output } = await serveOn(t, dataDir(t));
    child.kill('SIGINT');
    child.kill('SIGINT');
    await once(child, 'close');
    t.true(output().includes('Postern stops'), output());
    // The second one may find the process at its very end, where nothing is left to undo.
    t.true(output().includes('Postern has stopped'), output());
  },
);

/** Whether a process has a file open. */
function opens(pid: number | undefined, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((fd) => {
    try {
      return readlinkSync(join(folder, fd)) === file;
    } catch {
      return false; // closed meanwhile
    }
  });
}

test.serial('a signal stops in time even a start that waits for the database', async (t) => {
  const folder = dataDir(t);
  t.is((await obeyedHere(['migrate'], { DATA_DIR: folder })).status, 0);
  const held = join(folder, 'postern.sqlite');
  const release = lockSqliteFile(held);
  const child = await spawnGateway(t, folder);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  while (!opens(child.pid, held)) await sleep(50);
  await sleep(500);
  const askedAt = performance.now();
  child.kill('SIGTERM');
  await once(child, 'close');
  t.true(performance.now() - askedAt < 6_000, output);
  // Either the start gives up its wait for the file first, or the stop ends it.
  t.regex(output, /the database cannot be used|took too long and is ended by force/);
  t.notRegex(output, /Postern serves|API token/);
  release();
});

function mebibytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]) / 1_024;
}

test.serial(
  'what `npm start` runs soon fits into 160 MB, without a compile cache as well',
  async (t) => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: { start: string };
    };
    const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
    const child = spawn('sh', ['-c', scripts.start], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...settings,
        // Its workers compile the packet path, as those of administrators do.
        POSTERN_WARM_UP: 'on',
        PATH: path,
        DATA_DIR: dataDir(t),
        WIREGUARD_PORT: String(await freeUdpPort()),
        NODE_DISABLE_COMPILE_CACHE: '1',
      },
    });
    t.teardown(() => child.kill('SIGKILL'));
    const serving = await untilServes(child);
    // It gives memory back some seconds after it began to serve. The shell was replaced by the
    // gateway; otherwise the test would prove little.
    await until('the gateway is small', () => mebibytesOf(child.pid!) < 160, 60_000);
    t.true(mebibytesOf(child.pid!) > 80);
    await stopsCleanly(t, serving, 'SIGTERM');
  },
);

test.serial('a first start that fails keeps no password', async (t) => {
  const taken = createTcpServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const udp = createSocket('udp4').bind(0);
  await once(udp, 'listening');
  const common = {
    ...WITHOUT_WARM_UP,
    DATA_DIR: dataDir(t),
    WIREGUARD_TUN: 'off',
    HTTP_HOST: '127.0.0.1',
  };
  // The UDP port is in use: the credentials were not shown, so no user may exist.
  const early = { ...common, HTTP_PORT: '0', WIREGUARD_PORT: String(udp.address().port) };
  const refused = await postern(['serve'], early);
  t.is(refused.status, 1, refused.stderr);
  t.notRegex(refused.stdout, /API token/);
  udp.close();
  // The HTTP port is in use: the administrator exists already, and the credentials are shown.
  const late = { ...common, HTTP_PORT: String(port), WIREGUARD_PORT: String(await freeUdpPort()) };
  const shown = await postern(['serve'], late);
  t.is(shown.status, 1, shown.stderr);
  t.regex(shown.stderr, /TCP 127\.0\.0\.1:\d+ is taken/);
  // Without a terminal the secrets are in a file, and the log names it.
  const file = join(common.DATA_DIR, 'first-administrator.txt');
  t.regex(readFileSync(file, 'utf8'), /API token {2}pst_/);
  t.true(shown.stdout.includes(JSON.stringify(file)), shown.stdout);
  t.notRegex(shown.stdout + shown.stderr, /pst_/);
  taken.close();
});

test.serial('a start on which nobody can sign in names the command that helps', async (t) => {
  const { log, call } = await start(t);
  const warnings = (lines: LogLine[]): unknown[] =>
    lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
  t.deepEqual(warnings(log), []);
  t.is((await call('GET', '/v0/users')).status, 200);
  const locked = await start(t, { LOCAL_AUTH_ENABLED: 'false' });
  t.deepEqual(warnings(locked.log), [
    { help: 'npm run -s postern -- admin create-or-reset --email admin@example.com' },
  ]);
});

test.serial('a stop ends in time even if the data plane does not answer', async (t) => {
  const { running, log } = await start(t, { HTTP_PORT: '0' }, { hang: true });
  const begun = performance.now();
  await running.stop();
  t.true(performance.now() - begun < 5_000);
  t.true(log.some(({ message }) => message === 'a step of the stop was given up'));
});
