// The hashes of a release, as those who take it check them.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { sign, writeSums } from '../../../tools/release/sums.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

test('sha256sum finds every file as it was, and a changed one', (t) => {
  const folder = join(temporaryFolder('postern-sums-'), 'release');
  mkdirSync(folder);
  for (const name of ['b.deb', 'a.tar.gz']) writeFileSync(join(folder, name), name);
  writeSums(folder);
  const check = () =>
    spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
      cwd: folder,
      encoding: 'utf8',
    });
  t.like(check(), { status: 0, stdout: 'a.tar.gz: OK\nb.deb: OK\n' });
  writeSums(folder);
  t.is(readFileSync(join(folder, 'SHA256SUMS'), 'utf8').split('\n').length, 3);
  writeFileSync(join(folder, 'b.deb'), 'other');
  t.is(check().status, 1);
});

test('nothing is signed unless a key is named', (t) => {
  const folder = temporaryFolder('postern-unsigned-');
  writeSums(folder);
  t.false(sign(folder, '1.1.0', {}));
  t.is(execFileSync('ls', [folder], { encoding: 'utf8' }), 'SHA256SUMS\n');
});
