// A lock on a file: one holder, and none once that has ended.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { lockFile } from '../../../models/index.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const MODULE = new URL('../../../models/storage/file-lock.ts', import.meta.url).href;
const HOLDER = `
  const { lockFile } = await import('${MODULE}');
  globalThis.held = lockFile(process.argv[1]);
  process.stdout.write(String(globalThis.held !== null));
  setInterval(() => globalThis.gc(), 10);
`;

test('a file is locked once, until it is released', (t) => {
  const folder = temporaryFolder('postern-lock-');
  const path = join(folder, 'lock');
  const lock = lockFile(path);
  t.not(lock, null);
  t.is(lockFile(path), null);
  lock?.release();
  const again = lockFile(path);
  t.not(again, null);
  again?.release();
  t.deepEqual(readdirSync(folder), ['lock']);
  t.is(statSync(path).mode & 0o777, 0o600);
});

test('a lock ends with a process that is killed', async (t) => {
  const path = join(temporaryFolder('postern-lock-'), 'lock');
  const flags = ['--expose-gc', '--input-type=module', '--eval', HOLDER, path];
  const holder = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => holder.kill('SIGKILL'));
  const [said] = (await once(holder.stdout, 'data')) as [Buffer];
  t.is(said.toString(), 'true');
  t.is(lockFile(path), null);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = lockFile(path);
  t.not(lock, null);
  lock?.release();
});

test('what cannot be locked is no lock of others', (t) => {
  const path = join(temporaryFolder('postern-lock-'), 'folder');
  mkdirSync(path);
  t.throws(() => lockFile(path), { code: 'SQLITE_CANTOPEN' });
});
