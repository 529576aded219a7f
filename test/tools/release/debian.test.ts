// What the Debian package has in place of a checkout's unit and command.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { debianVersion, unitText } from '../../../tools/release/debian.ts';
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
