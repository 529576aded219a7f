// Files that root makes in the folder of another user, which is the service's where it was started.

import { chownSync, closeSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
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
