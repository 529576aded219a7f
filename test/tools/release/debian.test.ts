// What the Debian package has in place of a checkout's unit and command.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { DOCUMENTS } from '../../../tools/bundle.ts';
import { ownArchitecture } from '../../../tools/release/architectures.ts';
import { debianVersion, makePackage, unitText } from '../../../tools/release/debian.ts';
import { addShellFiles } from '../../../tools/release/shell-files.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const UNIT = readFileSync(join(ROOT, 'config/systemd/postern.service'), 'utf8');
const COMMAND = readFileSync(join(ROOT, 'config/debian/postern'), 'utf8');

test('a trial comes before its release, and a release before the next one', (t) => {
  t.is(debianVersion('1.1.0'), '1.1.0');
  const order = ['1.0.9', debianVersion('1.1.0-rc.1'), debianVersion('1.1.0-rc.2'), '1.1.0'];
  for (const [i, version] of order.slice(1).entries())
    t.is(
      spawnSync('dpkg', ['--compare-versions', order[i]!, 'lt', version]).status,
      0,
      `${order[i]} < ${version}`,
    );
});

test('a package has the same bytes, whatever the rights of new files are', (t) => {
  const folder = temporaryFolder('postern-package-');
  const made = [0o022, 0o077].map((umask) => {
    const program = join(folder, 'program');
    mkdirSync(program);
    for (const name of DOCUMENTS) writeFileSync(join(program, name), name);
    cpSync(join(ROOT, 'config/systemd'), join(program, 'config/systemd'), { recursive: true });
    const file = join(folder, `${umask}.deb`);
    addShellFiles(program, '1.1.0', 1_700_000_000);
    const release = { version: '1.1.0', architecture: ownArchitecture(), epoch: 1_700_000_000 };
    const before = process.umask(umask);
    try {
      makePackage(file, program, join(folder, `staging-${umask}`), release);
    } finally {
      process.umask(before);
    }
    return file;
  });
  const [first = '', second = ''] = made;
  t.deepEqual(readFileSync(first), readFileSync(second));
  const words = ['--fsys-tarfile', first];
  const tar = execFileSync('dpkg-deb', words, { maxBuffer: 64 * 1024 * 1024 });
  const listed = execFileSync('tar', ['-tv'], { input: tar, encoding: 'utf8' });
  t.regex(listed, /^-rwxr-xr-x root\/root .* \.\/usr\/bin\/postern$/m);
  t.regex(listed, /^-rw-r----- root\/root .* \.\/etc\/postern\/postern\.env$/m);
  t.regex(listed, /^drwxr-xr-x root\/root .* \.\/usr\/lib\/postern\/$/m);
});

test('the units of backups know nothing of a checkout', (t) => {
  for (const name of ['postern-backup.service', 'postern-backup.timer']) {
    const unit = unitText(readFileSync(join(ROOT, 'config/systemd', name), 'utf8'));
    t.notRegex(unit, /\/opt\/|PATH=/, name);
    t.regex(unit, /^Documentation=file:\/\/\/usr\/share\/doc\/postern\/README\.md$/m, name);
  }
});

test('the unit is that of a checkout but for the places', (t) => {
  const unit = unitText(UNIT);
  t.notRegex(unit, /\/opt\//);
  t.notRegex(unit, /PATH=/, 'the Node is known by its place');
  t.regex(unit, /^WorkingDirectory=\/usr\/lib\/postern$/m);
  t.regex(unit, /^Documentation=file:\/\/\/usr\/share\/doc\/postern\/README\.md$/m);
  const directives = (text: string): string[] =>
    text.split('\n').filter((line) => /^[A-Z]\w+=/.test(line) && !/\/opt\/|\/usr\//.test(line));
  t.deepEqual(directives(unit), directives(UNIT));
  t.true(directives(unit).length > 40);
});

test('shells and man find what they read of the package, and the program lacks it', (t) => {
  const folder = temporaryFolder('postern-package-');
  const [program, staging] = [join(folder, 'program'), join(folder, 'staging')];
  for (const name of [...DOCUMENTS, 'config/systemd'])
    cpSync(join(ROOT, name), join(program, name), { recursive: true });
  addShellFiles(program, '7.8.9', 0);
  const file = join(folder, 'postern.deb');
  mkdirSync(staging);
  makePackage(file, program, staging, {
    version: '7.8.9',
    architecture: ownArchitecture(),
    epoch: 0,
  });
  const list = execFileSync('dpkg-deb', ['-c', file], { encoding: 'utf8' });
  for (const name of [
    'man/man1/postern.1.gz',
    'bash-completion/completions/postern',
    'zsh/vendor-completions/_postern',
    'fish/vendor_completions.d/postern.fish',
  ])
    t.regex(list, new RegExp(`^-rw-r--r-- root/root .* \\./usr/share/${name}$`, 'm'));
  t.notRegex(list, /usr\/lib\/postern\/share/);
  const page = execFileSync('zcat', [join(staging, 'usr/share/man/man1/postern.1.gz')]);
  t.regex(page.toString(), /^\.TH POSTERN 1 1970-01-01 "Postern 7\.8\.9"/);
});

/** Runs the command with other places, and a program that prints what it was given. */
function given(settings: string, words: readonly string[]): Record<string, string> {
  const folder = temporaryFolder('postern-command-');
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\nenv\nfor word; do echo "WORD_$word=yes"; done\n');
  chmodSync(program, 0o755);
  mkdirSync(join(folder, 'etc'));
  if (settings !== '') writeFileSync(join(folder, 'etc/postern.env'), settings);
  const text = COMMAND.replace('/usr/lib/postern/lib/postern', program).replaceAll(
    '/etc/postern/',
    join(folder, 'etc/'),
  );
  const command = join(folder, 'postern');
  writeFileSync(command, text);
  chmodSync(command, 0o755);
  const { stdout } = spawnSync(command, words, {
    env: { PATH: '/usr/bin:/bin', WIREGUARD_TUN: 'off' },
    encoding: 'utf8',
  });
  return Object.fromEntries(
    stdout.split('\n').map((line) => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
}

test('the command has the settings of the service', (t) => {
  const environment = given('', ['device', 'list']);
  const own = UNIT.split('\n')
    .filter((line) => /^Environment=(?!PATH|NODE_COMPILE_CACHE)/.test(line))
    .flatMap((line) => line.replace('Environment=', '').split(' '))
    .filter((assignment) => !assignment.startsWith('LOG_FORMAT='));
  t.true(own.length > 2);
  for (const assignment of own) {
    const [name = '', value] = assignment.split('=');
    t.is(environment[name], value, name);
  }
  t.like(environment, { WORD_device: 'yes', WORD_list: 'yes' });
  const cache = /NODE_COMPILE_CACHE=(.*)$/m.exec(UNIT)?.[1];
  t.not(
    environment['NODE_COMPILE_CACHE'],
    cache,
    'the service writes what it runs, not what root runs',
  );
});

test('the file of settings says more than the unit, as systemd means it', (t) => {
  t.like(given('DATA_DIR=/srv/postern\nEXTERNAL_URL="https://a.example/"\n', []), {
    DATA_DIR: '/srv/postern',
    EXTERNAL_URL: 'https://a.example/',
    WIREGUARD_TUN: 'required',
  });
});
