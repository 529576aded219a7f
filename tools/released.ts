// Makes the databases that test/models/migrations/released.test.ts brings up: one of every step and
// kind. That of a new step is the one before it, after the step ran.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { connectDatabase, migrate } from '../models/index.ts';
import { migrations } from '../models/migrations/index.ts';
import { KEY, loadReleased, releasedFile } from '../test/models/migrations/released-databases.ts';
import type { TestDatabaseKind } from '../test/support/database/databases.ts';
import { runOnServer } from '../test/support/database/mariadb.ts';

/** Writes the files of the last step that are missing; returns their paths. */
export async function writeReleased(): Promise<string[]> {
  const [number, before] = migrations.map(({ name }) => name.slice(0, 4)).toReversed();
  if (number === undefined || before === undefined) return [];
  const written: string[] = [];
  for (const kind of ['sqlite', 'mariadb'] as const) {
    const path = releasedFile(number, kind);
    if (existsSync(path)) continue;
    const make = (url: string, dump: () => string) => broughtUp(url, kind, before, dump);
    writeFileSync(path, await (kind === 'sqlite' ? inFile(make) : onServer(make)));
    written.push(path);
  }
  return written;
}

type Make = (url: string, dump: () => string) => Promise<string>;

async function broughtUp(
  url: string,
  kind: TestDatabaseKind,
  before: string,
  dump: () => string,
): Promise<string> {
  await loadReleased(url, before, kind);
  const database = await connectDatabase({ url, encryptionKey: KEY });
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
  return dump();
}

async function inFile(make: Make): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-released-'));
  try {
    const path = join(folder, 'postern.sqlite');
    return await make(`sqlite:${path}`, () => output('sqlite3', [path, '.dump']));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** On the server of TEST_MARIADB_URL, in a database of its own. */
async function onServer(make: Make): Promise<string> {
  const server = process.env['TEST_MARIADB_URL'];
  if (!server)
    throw new Error(
      'TEST_MARIADB_URL is not set; start a server with: ' +
        'export TEST_MARIADB_URL=$(npx node test/support/database/mariadb.ts start)',
    );
  const { hostname, port, username } = new URL(server);
  const name = `released_${randomBytes(8).toString('hex')}`;
  const options = ['--compact', '--skip-extended-insert', '--default-character-set=utf8mb4'];
  const where = [`--host=${hostname}`, `--port=${port}`, `--user=${username}`];
  await runOnServer(server, `CREATE DATABASE ${name}`);
  try {
    const text = await make(server + name, () =>
      output('mariadb-dump', ['--no-defaults', ...where, ...options, name]),
    );
    // Comments of the dump that set what the client of mariadb-dump would want.
    return text.replaceAll(/^\/\*.*\n/gm, '');
  } finally {
    await runOnServer(server, `DROP DATABASE ${name}`);
  }
}

function output(command: string, words: readonly string[]): string {
  return execFileSync(command, words, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}
