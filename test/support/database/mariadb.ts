// A private MariaDB for the tests: Debian's mariadb-server on a folder, a port and a socket of its
// own, never a system service. One serves the whole test run:
//   export TEST_MARIADB_URL=$(npx node test/support/database/mariadb.ts start) DATABASES=sqlite,mariadb
//   npx ava; node test/support/database/mariadb.ts stop
// `start` prints the URL alone. `stop` stops that of TEST_MARIADB_URL, or every one that was
// started from this working tree when the variable is not set; other servers are never touched.

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2';
import { freePort } from '../network/free-port.ts';

/** Patience, and no bar: beside other tests a server takes its time. */
const CONNECT_MS = 60_000;
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** Where data of servers without databases are kept for the next run. */
const CACHE = resolve(import.meta.dirname, '../../../node_modules/.cache/mariadb');
/** Its arguments: where the data are to be, and whose. A user may be kept out of a working tree. */
const MAKE_DATA = `
  test ! -d "$1" || exit 0
  folder=$(mktemp -d)
  trap 'rm -rf "$folder" "$1.new"' EXIT
  chown "$2" "$folder"
  mariadb-install-db --no-defaults --datadir="$folder/data" --tmpdir="$folder" --user="$2" \
    --auth-root-authentication-method=normal --skip-test-db
  mv "$folder/data" "$1.new"
  mv "$1.new" "$1"`;

/** A running server. */
export interface Mariadb {
  /** URL of the server; append the name of a database. */
  url: string;
  pid: number;
  /** Holds its data, socket and log; gone once it is stopped. */
  folder: string;
  /** Further options of mariadbd that it was started with. */
  settings: readonly string[];
}

/** Starts a server with empty data under `parent`; `settings` are further options of mariadbd. */
export async function startMariadb(
  settings: readonly string[] = [],
  parent: string = existsSync('/dev/shm') ? '/dev/shm' : tmpdir(),
): Promise<Mariadb> {
  const folder = makeData(parent, userInfo().username);
  const url = `mariadb://root@127.0.0.1:${await freePort()}/`;
  return launch({ url, pid: 0, folder, settings: [`--user=${userInfo().username}`, ...settings] });
}

/** Makes a folder of a server's own, with empty data that belong to a user of this machine. */
export function makeData(parent: string, user: string): string {
  const folder = mkdtempSync(join(parent, 'postern-maria-'));
  execFileSync('chown', [user, folder]);
  const data = join(folder, 'data');
  execFileSync('cp', ['--archive', '--sparse=always', emptyData(user), data]);
  return folder;
}

/**
 * Data without databases, as the installed version makes them. Making them takes longer than a
 * start, so all servers of a user begin with copies; who comes while they are made waits.
 */
function emptyData(user: string): string {
  const version = execFileSync('mariadbd', ['--version'], { stdio: 'pipe' }).toString();
  const key = createHash('sha256').update(`${version}\0${user}`).digest('hex').slice(0, 12);
  const made = join(CACHE, key);
  if (existsSync(made)) return made;
  mkdirSync(CACHE, { recursive: true });
  execFileSync('flock', [`${made}.lock`, 'sh', '-euc', MAKE_DATA, 'sh', made, user], {
    stdio: 'pipe',
  });
  return made;
}

/**
 * Starts a server on its folder and its port, for the first time or after it was ended; `once` are
 * options of this start alone. Returns when it answers.
 */
export async function launch(mariadb: Mariadb, once: readonly string[] = []): Promise<Mariadb> {
  const { url, folder, settings } = mariadb;
  const log = join(folder, 'log');
  const output = openSync(log, 'a');
  const server = spawn(
    'mariadbd',
    [
      '--no-defaults',
      `--datadir=${join(folder, 'data')}`,
      // A server that starts deletes the temporary tables that it finds, in /tmp those of others.
      `--tmpdir=${folder}`,
      `--socket=${join(folder, 'socket')}`,
      `--pid-file=${join(folder, 'pid')}`,
      `--port=${new URL(url).port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--max-connections=500',
      // A test that waits for a processor keeps its connection.
      '--connect-timeout=120',
      ...settings,
      ...once,
    ],
    { stdio: ['ignore', output, output], detached: true },
  );
  server.unref();
  const { pid } = server;
  if (pid === undefined)
    throw new Error('mariadbd is not installed: apt-get install mariadb-server');
  const launched = { ...mariadb, pid };
  try {
    await waitUntilReady(launched);
  } catch (error) {
    const text = readFileSync(log, 'utf8').slice(-2000);
    await stopMariadb(launched);
    throw new Error(`mariadbd did not start:\n${text}`, { cause: error });
  }
  return launched;
}

/** Stops a server that `startMariadb` started, and deletes its folder. */
export async function stopMariadb({ pid, folder }: Pick<Mariadb, 'pid' | 'folder'>): Promise<void> {
  if (isAlive(pid)) process.kill(pid, 'SIGTERM');
  const untilMs = Date.now() + STOP_TIMEOUT_MS;
  while (isAlive(pid)) {
    if (Date.now() > untilMs) process.kill(pid, 'SIGKILL');
    await sleep(50);
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Runs statements on a server, outside any database. */
export async function runOnServer(url: string, ...statements: string[]): Promise<void> {
  const uri = url.replace(/^mariadb:/, 'mysql:');
  const connection = mysql.createConnection({ uri, connectTimeout: CONNECT_MS }).promise();
  try {
    for (const sql of statements) await connection.query(sql);
  } finally {
    await connection.end();
  }
}

async function waitUntilReady({ url, pid }: Mariadb): Promise<void> {
  const untilMs = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await runOnServer(url, 'SELECT 1');
      return;
    } catch (error) {
      if (!isAlive(pid) || Date.now() > untilMs) throw error;
      await sleep(100);
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A child that ended but was not waited for still answers to signal 0.
  return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** Where `start` leaves word for `stop`: a folder for each working tree, a file for each server. */
function noteFolder(): string {
  const tree = createHash('sha256')
    .update(import.meta.dirname)
    .digest('hex')
    .slice(0, 12);
  return join(tmpdir(), `postern-mariadb-${userInfo().uid}-${tree}`);
}

function noteFile(url: string): string {
  return join(noteFolder(), `${new URL(url).port}.json`);
}

/** The servers that `start` started here and that still run; of `url` alone where it is given. */
function readNotes(url: string | undefined): Mariadb[] {
  if (!existsSync(noteFolder())) return [];
  return readdirSync(noteFolder())
    .map((name) => JSON.parse(readFileSync(join(noteFolder(), name), 'utf8')) as Mariadb)
    .filter((note) => url === undefined || note.url === url);
}

async function main(verb: string | undefined, url: string | undefined): Promise<void> {
  if (verb === 'start') {
    // The data outlive no test run: nothing is gained by waiting for a disk.
    const mariadb = await startMariadb(['--innodb-flush-log-at-trx-commit=0']);
    mkdirSync(noteFolder(), { recursive: true, mode: 0o700 });
    writeFileSync(noteFile(mariadb.url), JSON.stringify(mariadb));
    process.stdout.write(`${mariadb.url}\n`);
  } else if (verb === 'stop') {
    for (const note of readNotes(url)) {
      // The folder proves that the process is ours: process ids come again.
      if (existsSync(note.folder)) await stopMariadb(note);
      rmSync(noteFile(note.url), { force: true });
    }
  } else {
    process.stderr.write('usage: node test/support/database/mariadb.ts start | stop [url]\n');
    process.exitCode = 2;
  }
}

if (import.meta.main)
  await main(process.argv[2], process.argv[3] ?? process.env['TEST_MARIADB_URL']);
