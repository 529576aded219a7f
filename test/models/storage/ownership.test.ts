// Files that root makes in the folder of another user, which is the service's where it was started.

import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, closeSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { giveToOwnerOf } from '../../../models/index.ts';
import { openAt } from '../../support/database/databases.ts';

const isRoot = process.getuid?.() === 0;
/** Whoever is not root can give nothing away: there the file stays as it is. */
const OWNER = isRoot ? 65_534 : Number(process.getuid?.());

test('a file belongs to the owner of its folder, and so does a database', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-owner-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  if (isRoot) chownSync(folder, OWNER, OWNER);
  const path = join(folder, 'file');
  const file = openSync(path, 'wx');
  giveToOwnerOf(folder, file);
  closeSync(file);
  t.is(statSync(path).uid, OWNER);

  const database = join(folder, 'postern.sqlite');
  await openAt(t, { url: `sqlite:${database}`, encryptionKey: Buffer.alloc(32) });
  t.is(statSync(database).uid, OWNER);
});

test('a root that may give nothing away keeps what it makes', (t) => {
  if (!isRoot) {
    t.pass();
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'postern-owner-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  chownSync(folder, OWNER, 0);
  chmodSync(folder, 0o770);
  const path = join(folder, 'file');
  const module = new URL('../../../models/storage/ownership.ts', import.meta.url).href;
  const program = `import { makeFile } from '${module}'; makeFile('${path}');`;
  const { status, stderr } = spawnSync(
    'setpriv',
    ['--bounding-set=-chown', process.execPath, '--input-type=module', '-e', program],
    { encoding: 'utf8' },
  );
  t.is(status, 0, stderr);
  t.is(statSync(path).uid, 0);
});
