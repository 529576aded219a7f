// What was probably meant by words that are no command, and by an option that is none.

import test from 'ava';
import { commands } from '../../../lib/cli/grammar.ts';
import { meantCommand, meantOption } from '../../../lib/cli/meant-command.ts';
import { optionTypes } from '../../../lib/cli/options.ts';

const names = Object.keys(commands);

const table: [typed: string, meant: string | null][] = [
  ['devices list', 'device list'],
  ['device ls', 'device list'],
  ['list devices', 'device list'],
  ['Device List', 'device list'],
  ['devcie list', 'device list'],
  ['lsit devices', 'device list'],
  ['users', 'user list'],
  ['devices', 'device list'],
  ['peers', 'device list'],
  ['logs', 'audit list'],
  ['backups', 'backup'],
  ['user add', 'user create'],
  ['add user', 'user create'],
  ['user rm', 'user delete'],
  ['peer list', 'device list'],
  ['nodes ls', 'device list'],
  ['token delete', 'token revoke'],
  ['group show', 'group members'],
  ['group get', 'group members'],
  ['provider get', 'provider list'],
  ['group add-user', null],
  ['polcy-test run', 'policy-test run'],
  ['trafic', 'traffic'],
  ['flow', 'flows'],
  ['docter', 'doctor'],
  ['config show', 'configuration show'],
  ['invite user', 'user enrol'],
  ['dance', null],
  ['constructor', null],
  ['device constructor', null],
  ['', null],
];
for (const [typed, meant] of table)
  test(`"${typed}" is meant as ${meant ?? 'nothing'}`, (t) => {
    t.is(meantCommand(typed.split(' '), names), meant);
  });

test('an option that is near is meant', (t) => {
  const options = Object.keys(optionTypes);
  for (const [typed, meant] of [
    ['emial', 'email'],
    ['devise', 'device'],
    ['dryrun', 'dry-run'],
    ['jsn', 'json'],
    ['colour', null],
  ] as const)
    t.is(meantOption(typed, options), meant, typed);
  const limits = ['id', 'down', 'up', 'json'];
  for (const [typed, meant] of [
    ['download', 'down'],
    ['upload', 'up'],
    ['qr', null],
    ['name', null],
    ['u', 'up'],
    ['', null],
  ] as const)
    t.is(meantOption(typed, limits), meant, typed);
  t.is(meantOption('star', ['starts-at', 'ends-at']), 'starts-at');
  t.is(meantOption('port', ['port-type', 'port-range']), null, 'two begin so');
});
