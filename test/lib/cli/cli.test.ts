// The command line's grammar: what is a command, and what is complained about.

import test from 'ava';
import { parseCommandLine } from '../../../lib/cli/cli.ts';

test('nothing means serve', (t) => {
  t.deepEqual(parseCommandLine([]), {
    command: {
      words: 'serve',
      operand: null,
      operands: [],
      options: {
        json: false,
        qr: false,
        passwordStdin: false,
        resetMfa: false,
        staged: false,
        replace: false,
        dryRun: false,
        everyone: false,
        payload: false,
        onlyRefused: false,
        force: false,
        disabled: false,
        follow: false,
        ended: false,
        enforced: false,
        online: false,
        createUser: false,
        csv: false,
        mail: false,
        noPassword: false,
      },
    },
  });
});

const good: [line: string, words: string, operand: string | null, options: object][] = [
  ['serve', 'serve', null, {}],
  ['migrate', 'migrate', null, {}],
  ['check-config --json', 'check-config', null, { json: true }],
  ['token create --email a@b --name ci', 'token create', null, { email: 'a@b', name: 'ci' }],
  ['token create --email a@b --name ci --days 365', 'token create', null, { days: 365 }],
  ['token list', 'token list', null, {}],
  ['token revoke 0190', 'token revoke', '0190', {}],
  ['user disable --email a@b', 'user disable', null, { email: 'a@b' }],
  ['device disable --id 0190', 'device disable', null, { id: '0190' }],
  ['device expire --id 0190 --at never', 'device expire', null, { at: null }],
  [
    'device expire --id 0190 --at 2026-12-31',
    'device expire',
    null,
    { at: new Date('2026-12-31') },
  ],
  ['backup /tmp/a', 'backup', '/tmp/a', {}],
  ['restore a --replace', 'restore', 'a', { replace: true }],
  ['import wg-quick - --email a@b --dry-run', 'import wg-quick', '-', { dryRun: true }],
  ['import firezone dump.json', 'import firezone', 'dump.json', { dryRun: false }],
  ['database compact --json', 'database compact', null, { json: true }],
  ['keys rotate --online', 'keys rotate', null, { online: true }],
  ['explain laptop 10.0.0.5 tcp/443', 'explain', 'laptop', {}],
  ['diagnose laptop --json', 'diagnose', 'laptop', { json: true }],
  ['capture laptop', 'capture', 'laptop', {}],
  [
    'capture laptop --payload --only-refused --port 53 --protocol udp --duration 9 --bytes 5000',
    'capture',
    'laptop',
    { payload: true, onlyRefused: true, port: '53', protocol: 'udp', duration: '9', bytes: '5000' },
  ],
  ['capture laptop --snaplen 64 --destination ::1', 'capture', 'laptop', { snaplen: '64' }],
  ['flows --device laptop --follow', 'flows', null, { device: 'laptop', follow: true }],
  ['refusals --user a@b --reason rule_drop', 'refusals', null, { reason: 'rule_drop' }],
  ['explain laptop phone icmp --size 1400', 'explain', 'laptop', { size: '1400' }],
  ['traffic', 'traffic', null, { csv: false }],
  [
    'traffic laptop --from 2026-11-21 --to 2026-11-22T08:00 --step 3600 --csv',
    'traffic',
    'laptop',
    {
      from: new Date('2026-11-21'),
      to: new Date('2026-11-22T08:00Z'),
      step: '3600',
      csv: true,
    },
  ],
  ['audit list', 'audit list', null, {}],
  ['audit list --limit 10000', 'audit list', null, { limit: 10_000 }],
  ['audit list --since 2026-11-21', 'audit list', null, { since: new Date('2026-11-21') }],
  [
    'audit list --since 2026-11-21T08:00 --json',
    'audit list',
    null,
    { since: new Date('2026-11-21T08:00Z'), json: true },
  ],
  [
    'audit list --since 2026-11-21T08:00:00.5+02:00',
    'audit list',
    null,
    { since: new Date('2026-11-21T06:00:00.5Z') },
  ],
  [
    'admin create-or-reset --email a@b --password-stdin',
    'admin create-or-reset',
    null,
    { passwordStdin: true },
  ],
];
for (const [line, words, operand, options] of good)
  test(`"${line}" is taken`, (t) => {
    const parsed = parseCommandLine(line.split(' '));
    t.true('command' in parsed);
    if (!('command' in parsed)) return;
    t.is(parsed.command.words as string, words);
    t.is(parsed.command.operand, operand);
    t.deepEqual({ ...parsed.command.options, ...options }, parsed.command.options);
  });

const bad: [line: string, error: RegExp][] = [
  ['dance', /there is no command "dance"; see: npm run -s postern -- help$/],
  ['token', /^token wants a verb:[^]*token create[^]*token list[^]*token revoke /],
  ['token dance', /^there is no command "token dance":[^]*token create/],
  ['rule create', /--destination is missing; usage: postern rule create --destination D/],
  [
    'user create --email a@b --no-password --password-stdin',
    /--password-stdin and --no-password exclude each other/,
  ],
  [
    'policy-test create --name a',
    /--destination is missing; usage: postern policy-test create --name N/,
  ],
  ['rule delete --id a --force', /^--force is not an option of rule delete/],
  ['device enable', /--id is missing; usage: postern device enable --id DEVICE/],
  // A script hands on a variable that holds nothing.
  ['device limit --id 0190 --down ', /^--down is empty; give bits per second, or none; usage: /],
  ['device limit --id 0190 --down none --up ', /^--up is empty; give bits per second, or none; /],
  ['user limit --email a@b --quota ', /^--quota is empty; give bytes in a month, or none; usage: /],
  [
    'rule create --destination ::/0 --action accept --port-range ',
    /^--port-range is empty; give a port or ports, or leave it out for all traffic; usage: /,
  ],
  ['rule create --destination ::/0 --protocol ', /^--protocol is empty; give a protocol, or leave/],
  ['rule create --destination ::/0 --port-type ', /^--port-type is empty; give tcp or udp, or /],
  ['device expire --id 0190', /--at is missing; usage: postern device expire --id DEVICE --at T/],
  ['device expire --id 0190 --at 9999-12-31T23:59:59-10:00', /--at takes a time such as/],
  ['device expire --id 0190 --at 2026-02-30', /--at takes a time such as/],
  ['device expire --id 0190 --at soon', /--at takes a time such as .*, not "soon"; or never/],
  ['token create --name x', /--email is missing; usage: postern token create --email E --name N/],
  [
    'token create --email a@b --name x --days 0',
    /--days takes a whole number from 1 to 365, not "0"/,
  ],
  ['token create --email a@b --name x --days 366', /not "366"/],
  ['token create --email a@b --name x --days 1.5', /not "1.5"/],
  ['flows --follow --limit 3', /--follow and --limit exclude each other/],
  ['traffic --json --csv', /--json and --csv exclude each other; usage: postern traffic/],
  ['traffic --from yesterday', /--from takes a time such as .*, not "yesterday"/],
  ['traffic --to now', /--to takes a time such as .*, not "now"/],
  ['refusals --limit 1001', /^--limit takes a whole number from 1 to 1000, not "1001"$/],
  ['flows --limit 10001', /^--limit takes a whole number from 1 to 10000, not "10001"$/],
  ['audit list --limit 0', /--limit takes a whole number from 1 to 10000, not "0"/],
  ['audit list --limit 10001', /not "10001"/],
  ['rule create --destination D --starts-at noon', /--starts-at takes a time such as/],
  ['audit list --since yesterday', /--since takes a time such as .*, not "yesterday"/],
  ['audit list --since 2026-13-01', /not "2026-13-01"/],
  ['backup', /^FILE is missing; usage: postern backup FILE \| FOLDER --keep N \[--json\]/],
  ['backup ', /^FILE is missing; usage: postern backup FILE \| FOLDER --keep N \[--json\]/],
  ['restore ', /^FILE is missing; usage: postern restore FILE/],
  ['import firezone ', /^FILE is missing; usage: postern import firezone FILE/],
  ['backup a --replace', /^--replace is not an option of backup/],
  ['import wg-quick a', /--email is missing; usage: postern import wg-quick FILE --email E/],
  ['keys', /^keys wants a verb:[^]*keys rotate/],
  ['token revoke', /^ID is missing; usage: postern token revoke ID/],
  ['token revoke a b', /"b" is too much/],
  ['serve --email x@y', /^--email is not an option of serve; usage: postern serve$/],
  ['--email x@y', /^--email is not an option of serve; usage: postern serve$/],
  ['serve --json', /^--json is not an option of serve/],
  ['migrate --name foo', /^--name is not an option of migrate; usage: postern migrate \[--json\]$/],
  ['check-config --password-stdin', /^--password-stdin is not an option of check-config/],
  ['user enable --email a@b --days 3', /^--days is not an option of user enable/],
  [
    'token revoke 0190 --email a@b',
    /^--email is not an option of token revoke; usage: postern token revoke ID \[--json\]$/,
  ],
  [
    'token list --email',
    /^Option '--email <value>' argument missing.*; see: npm run -s postern -- help$/,
  ],
  ['serve --colour', /^Unknown option '--colour'; see: npm run -s postern -- help$/],
  ['user set-role --email a@b', /--role is missing/],
  ['configuration set', /^NAME=VALUE is missing; usage: postern configuration set NAME=VALUE/],
  ['constructor', /there is no command/],
];
for (const [line, error] of bad)
  test(`"${line}" is complained about`, (t) => {
    const parsed = parseCommandLine(line.split(' '));
    t.true('error' in parsed);
    if ('error' in parsed) t.regex(parsed.error, error);
  });

for (const line of ['help', '--help', '-h', 'dance --help'])
  test(`"${line}" shows help that names every command`, (t) => {
    const parsed = parseCommandLine(line.split(' '));
    t.true('help' in parsed);
    if (!('help' in parsed)) return;
    for (const name of [
      'serve',
      'token create',
      'token revoke ',
      'admin create-or-reset',
      'check-config',
    ])
      t.true(parsed.help.includes(name), name);
  });

test('help on one command tells its options and no other command', (t) => {
  for (const line of ['user create --help', 'help user create', 'user create --email a@b -h']) {
    const parsed = parseCommandLine(line.split(' '));
    if (!('help' in parsed)) return t.fail(line);
    t.regex(parsed.help, /^usage: postern user create --email E /);
    for (const option of ['--email E', '--role R', '--password-stdin', '--no-password', '--json'])
      t.true(parsed.help.includes(`\n  ${option} `), option);
    t.false(parsed.help.includes('device'));
  }
});

test('--version, or the word alone, says which version this is', (t) => {
  t.deepEqual(parseCommandLine(['--version']), { isVersion: true });
  t.deepEqual(parseCommandLine(['version']), { isVersion: true });
  t.true('error' in parseCommandLine(['version', 'of', 'it']));
});
