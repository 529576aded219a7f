// Archives of the same files have the same bytes, whoever makes them, and whenever.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { pack } from '../../../tools/release/archive.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

test('an archive does not know when and with which rights its files were made', (t) => {
  const folder = temporaryFolder('postern-pack-');
  const made = [
    { names: ['b', 'a'], mode: 0o644, time: 1_000 },
    { names: ['a', 'b'], mode: 0o600, time: 2_000 },
  ].map(({ names, mode, time }, i) => {
    const parent = join(folder, String(i));
    mkdirSync(join(parent, 'postern'), { recursive: true });
    for (const name of names) {
      const path = join(parent, 'postern', name);
      writeFileSync(path, `${name}\n`);
      chmodSync(path, name === 'a' ? mode | 0o100 : mode);
      utimesSync(path, time, time);
    }
    const file = join(folder, `${i}.tar.gz`);
    pack(file, parent, 'postern', 1_700_000_000);
    return file;
  });
  const [first = '', second = ''] = made;
  t.deepEqual(readFileSync(first), readFileSync(second));
  const listed = execFileSync('tar', ['--utc', '--full-time', '-tvzf', first], {
    encoding: 'utf8',
  });
  t.deepEqual(
    listed.split('\n').map((line) => line.replaceAll(/ +/g, ' ')),
    [
      'drwxr-xr-x 0/0 0 2023-11-14 22:13:20 postern/',
      '-rwxr-xr-x 0/0 2 2023-11-14 22:13:20 postern/a',
      '-rw-r--r-- 0/0 2 2023-11-14 22:13:20 postern/b',
      '',
    ],
  );
});
