// Files that are whole or not there: their rights, what exists is left alone, a disk that is full.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { writeNewFile } from '../../../../lib/installation/backups/file.ts';
import { scratchFolder } from '../../../support/database/full-database.ts';

test('a file is written whole, for its owner alone, with nothing beside it', async (t) => {
  const folder = scratchFolder(t);
  const path = join(folder, 'file');
  const result = await writeNewFile(path, async (out) => {
    for (let i = 0; i < 50_000; i += 1) await out(`line ${i} é\n`);
    t.is(readdirSync(folder).filter((name) => name === 'file').length, 0);
    return 7;
  });
  t.is(result, 7);
  const lines = readFileSync(path, 'utf8').split('\n');
  t.is(lines.length, 50_001);
  t.is(lines[49_999], 'line 49999 é');
  t.is(statSync(path).mode & 0o777, 0o600);
  t.deepEqual(readdirSync(folder), ['file']);
});

test('a folder that is missing is named', async (t) => {
  const path = join(scratchFolder(t), 'missing', 'file');
  await t.throwsAsync(
    writeNewFile(path, async () => undefined),
    { message: /^the folder .*\/missing does not exist; make it, or name a file in another one$/ },
  );
});

test('a file that exists is left alone, also one that comes meanwhile', async (t) => {
  const folder = scratchFolder(t);
  const path = join(folder, 'file');
  const message = /file is there already, and nothing was written; name another file, or remove it/;
  await t.throwsAsync(
    writeNewFile(path, async (out) => {
      await out('ours');
      writeFileSync(path, 'theirs');
    }),
    { message },
  );
  await t.throwsAsync(
    writeNewFile(path, () => Promise.resolve(t.fail('not asked'))),
    { message },
  );
  t.is(readFileSync(path, 'utf8'), 'theirs');
  t.deepEqual(readdirSync(folder), ['file']);
});

test('nothing is left of a file that could not be finished', async (t) => {
  const folder = scratchFolder(t);
  await t.throwsAsync(
    writeNewFile(join(folder, 'file'), async (out) => {
      await out('x'.repeat(100_000));
      throw new Error('the database went away');
    }),
    { message: 'the database went away' },
  );
  t.deepEqual(readdirSync(folder), []);
});

if (process.getuid?.() === 0)
  test('a full disk is said, and leaves no half file', async (t) => {
    const folder = join(scratchFolder(t), 'small');
    mkdirSync(folder);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]);
    t.teardown(() => execFileSync('umount', [folder]));
    await t.throwsAsync(
      writeNewFile(join(folder, 'file'), async (out) => {
        for (let i = 0; i < 100; i += 1) await out('x'.repeat(10_000));
      }),
      {
        message: /file cannot be written \(ENOSPC.*\); free some space, or name a file on another/,
      },
    );
    t.deepEqual(readdirSync(folder), []);
  });
