// What a machine lacks for a release is said before anything is made.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { ARCHITECTURES, ownArchitecture } from '../../../tools/release/architectures.ts';
import { refuseMissing } from '../../../tools/release/needed.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const COMMAND = resolve(import.meta.dirname, '../../../tools/write-release.ts');
const PROGRAMS = ['dpkg-deb', 'g++', 'mmdebstrap', 'readelf'];
const folder = temporaryFolder('postern-needed-');

/** A folder with programs that do nothing. */
function pathWith(name: string, programs: readonly string[]): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const program of programs) writeFileSync(join(path, program), '', { mode: 0o755 });
  return path;
}

test('packages whose programs are missing are named with the command that installs them', (t) => {
  const compiler =
    ownArchitecture().name === 'x64' ? 'g++-aarch64-linux-gnu' : 'g++-x86-64-linux-gnu';
  const missing = (...words: Parameters<typeof refuseMissing>) =>
    t.throws(() => refuseMissing(...words)).message.split('apt-get install ')[1];
  const own = pathWith('own', PROGRAMS);
  t.is(missing(ARCHITECTURES, { PATH: own }), compiler);
  t.notThrows(() => refuseMissing([ownArchitecture()], { PATH: own }));
  const signed = { PATH: own, MINISIGN_KEY: '/key' };
  t.is(missing([ownArchitecture()], signed), 'minisign');
  const some = pathWith('some', ['g++', 'dpkg-deb']);
  t.is(missing([ownArchitecture()], { PATH: `/nowhere:${some}` }), 'binutils mmdebstrap');
  t.notThrows(() => refuseMissing([ownArchitecture()], { PATH: `${some}:${own}` }));
  chmodSync(join(own, 'mmdebstrap'), 0o644);
  t.is(missing([ownArchitecture()], { PATH: own }), 'mmdebstrap', 'nobody may run it');
});

test('the command says it in one line, and begins nothing', (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, '1.1.0-rc.1'], {
    env: { PATH: folder },
    encoding: 'utf8',
  });
  t.is(status, 1);
  t.is(stdout, '');
  t.regex(stderr, /^programs are missing; as root: apt-get install g\+\+ .* mmdebstrap dpkg\n$/);
});
