// The command line's grammar: what is a command, and what is complained about.

import test from 'ava';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import { commandOf, commands, type Entry, otherVerbs } from '../../../lib/cli/grammar.ts';
import { nameOfNeeded, wordsOf } from '../../../lib/cli/options.ts';

test('nothing means serve', async (t) => {
  t.deepEqual(await parseCommandLine([]), {
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
        outdated: false,
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
        watch: false,
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
  // A bare word stands for the option that names what the command is about.
  ['user create a@b --name Ann', 'user create', null, { email: 'a@b', name: 'Ann' }],
  ['user create --no-password a@b', 'user create', null, { email: 'a@b' }],
  ['group create engineers', 'group create', null, { name: 'engineers' }],
  ['group members engineers', 'group members', null, { group: 'engineers' }],
  ['device disable a@b/laptop --dry-run', 'device disable', null, { id: 'a@b/laptop' }],
  ['device expire a@b/x --at never', 'device expire', null, { id: 'a@b/x', at: null }],
  ['device expire a@b/x never', 'device expire', null, { id: 'a@b/x', at: null }],
  ['device create a@b tablet', 'device create', null, { email: 'a@b', name: 'tablet' }],
  ['device create tablet --email a@b', 'device create', null, { email: 'a@b', name: 'tablet' }],
  ['device create --name tablet a@b', 'device create', null, { email: 'a@b', name: 'tablet' }],
  ['token create a@b ci', 'token create', null, { email: 'a@b', name: 'ci' }],
  ['user rename a@b Ann', 'user rename', null, { email: 'a@b', name: 'Ann' }],
  ['user set-role a@b admin', 'user set-role', null, { email: 'a@b', role: 'admin' }],
  ['rule create 10.0.0.0/8', 'rule create', null, { destination: '10.0.0.0/8' }],
  ['import wg-quick wg0.conf a@b', 'import wg-quick', 'wg0.conf', { email: 'a@b' }],
  // What is taken as often as it is typed comes last.
  ['group add engineers a@b', 'group add', 'a@b', { group: 'engineers' }],
  ['group remove engineers a@b', 'group remove', 'a@b', { group: 'engineers' }],
  ['group add a@b --group engineers', 'group add', 'a@b', { group: 'engineers' }],
  // An owner and a name say which device.
  ['device delete --email a@b --name x', 'device delete', null, { id: 'a@b/x' }],
  ['device config --name x', 'device config', null, { id: 'x' }],
  ['diagnose --email a@b --name x', 'diagnose', 'a@b/x', {}],
  ['explain 10.0.0.5 --email a@b --name x', 'explain', 'a@b/x', {}],
  // Verbs of other programs.
  ['user add a@b', 'user create', null, { email: 'a@b' }],
  ['device ls', 'device list', null, {}],
  ['device rm a@b/x', 'device delete', null, { id: 'a@b/x' }],
  ['rule remove 0190', 'rule delete', null, { id: '0190' }],
  ['token rm 0190', 'token revoke', '0190', {}],
  ['token delete 0190', 'token revoke', '0190', {}],
  ['device limit --down 5Mbit/s laptop', 'device limit', null, { id: 'laptop' }],
  ['rule delete 0190', 'rule delete', null, { id: '0190' }],
  [
    'rule create --destination ::/0 --protocol tcp --port 443',
    'rule create',
    null,
    { portType: 'tcp', portRange: '443' },
  ],
  [
    'rule create --destination ::/0 --port-type udp --port 53',
    'rule create',
    null,
    { portType: 'udp', portRange: '53' },
  ],
  ['rule create --destination ::/0 --protocol icmp', 'rule create', null, { protocol: 'icmp' }],
  ['provider trust oidc/a', 'provider trust', null, { id: 'oidc/a' }],
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
  test(`"${line}" is taken`, async (t) => {
    const parsed = await parseCommandLine(line.split(' '));
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
  ['rule create', /^DESTINATION is missing; usage: postern rule create DESTINATION/],
  [
    'user create --email a@b --no-password --password-stdin',
    /--password-stdin and --no-password exclude each other/,
  ],
  [
    'policy-test create --name a',
    /^DESTINATION is missing; usage: postern policy-test create NAME/,
  ],
  ['rule delete --id a --force', /^--force is not an option of rule delete/],
  [
    'device enable',
    /^DEVICE is missing; DEVICE is ann@example\.com\/laptop, a name, an address or an id; see: .* device list; usage: postern device enable DEVICE \[--json\]$/,
  ],
  ['device enable ', /^DEVICE is missing; .*; usage: postern device enable DEVICE/],
  ['device enable --id ', /^DEVICE is missing; .*; usage: postern device enable DEVICE/],
  ['explain', /^DEVICE is missing; DEVICE is ann@example.*; usage: postern explain DEVICE /],
  ['explain laptop', /^DESTINATION is missing; usage: postern explain DEVICE /],
  ['device enable a --id b', /^"a" and --id exclude each other; usage: postern device enable /],
  ['device enable a b', /^"b" is too much; usage: postern device enable DEVICE/],
  ['user create', /^EMAIL is missing; usage: postern user create EMAIL /],
  ['group members', /^GROUP is missing; usage: postern group members GROUP /],
  // Two options name something, or none does: no word stands for one of them.
  ['device create phone', /^NAME is missing; usage: postern device create EMAIL NAME /],
  ['token create --email a@b --name ci x', /^"x" is too much; usage: postern token create /],
  ['user list a@b', /^"a@b" is too much; usage: postern user list /],
  ['rule create ::/0 --destination ::/0', /^"::\/0" and --destination exclude each other/],
  // A script hands on a variable that holds nothing.
  ['device limit --id 0190 --down ', /^--down is empty; give bits per second, or none; usage: /],
  ['device limit --id 0190 --down none --up ', /^--up is empty; give bits per second, or none; /],
  ['user limit --email a@b --quota ', /^--quota is empty; give bytes in a month, or none; usage: /],
  [
    'rule create --destination ::/0 --action accept --port-range ',
    /^--port-range is empty; give a port or ports, or leave it out for all traffic; usage: /,
  ],
  ['rule create --destination ::/0 --protocol ', /^--protocol is empty; give a protocol, or leave/],
  [
    'rule create --destination ::/0 --protocol tcp --port ',
    /^--port-range is empty; give a port or ports, or leave it out for all traffic; usage: /,
  ],
  [
    'rule create --destination ::/0 --protocol tcp --port-type udp',
    /^--protocol and --port-type exclude each other; usage: postern rule create /,
  ],
  [
    'rule create --destination ::/0 --port 80 --port-range 443',
    /^--port and --port-range exclude each other; usage: postern rule create /,
  ],
  ['rule update --id a --port 80', /^--port is not an option of rule update; usage: /],
  ['rule create --destination ::/0 --port-type ', /^--port-type is empty; give tcp or udp, or /],
  ['device expire --id 0190', /^TIME is missing; usage: postern device expire DEVICE TIME/],
  ['device expire --id 0190 --at 9999-12-31T23:59:59-10:00', /--at takes a date or a time,/],
  ['device expire --id 0190 --at 2026-02-30', /--at takes a date or a time,/],
  ['device expire --id 0190 --at soon', /--at takes a date or a time, .*, not "soon"; or never/],
  ['token create --name x', /^EMAIL is missing; usage: postern token create EMAIL NAME/],
  [
    'token create --email a@b --name x --days 0',
    /--days takes a whole number from 1 to 365, not "0"/,
  ],
  ['token create --email a@b --name x --days 366', /not "366"/],
  ['token create --email a@b --name x --days 1.5', /not "1.5"/],
  ['flows --follow --limit 3', /--follow and --limit exclude each other/],
  ['traffic --json --csv', /--json and --csv exclude each other; usage: postern traffic/],
  ['traffic --from yesterday', /--from takes a date or a time, .*, not "yesterday"/],
  ['traffic --to now', /--to takes a date or a time, .*, not "now"/],
  ['refusals --limit 1001', /^--limit takes a whole number from 1 to 1000, not "1001"$/],
  ['flows --limit 10001', /^--limit takes a whole number from 1 to 10000, not "10001"$/],
  ['audit list --limit 0', /--limit takes a whole number from 1 to 10000, not "0"/],
  ['audit list --limit 10001', /not "10001"/],
  ['rule create --destination D --starts-at noon', /--starts-at takes a date or a time,/],
  [
    'audit list --since monday',
    /^--since takes a date or a time, 2026-11-21 or 2026-11-21T08:00:00Z, not "monday"; or today or yesterday$/,
  ],
  ['traffic --since today --from 2026-11-21', /^--since and --from exclude each other; usage: /],
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
    /^Option '--email <value>' argument missing; usage: postern token list \[--email E\] /,
  ],
  ['serve --colour', /^Unknown option '--colour'; usage: postern serve$/],
  ['--colour', /^Unknown option '--colour'; see: npm run -s postern -- help$/],
  [
    'device limit --id a --download 5',
    /^Unknown option '--download'; did you mean `--down`\?; usage: postern device limit /,
  ],
  [
    'device list --stael 9d',
    /^Unknown option '--stael'; did you mean `--stale`\?; usage: postern device list /,
  ],
  [
    'device limit --id a --upload=5',
    /^Unknown option '--upload'; did you mean `--up`\?; usage: postern device limit /,
  ],
  [
    'device list --user a@b',
    /^--user is not an option of device list; usage: postern device list /,
  ],
  [
    'rule update --id 1 --end x',
    /^Unknown option '--end'; did you mean `--ends-at`\?; usage: postern rule update /,
  ],
  ['user set-role --email a@b', /^ROLE is missing/],
  ['token create a@b', /^NAME is missing; usage: postern token create EMAIL NAME /],
  ['group add engineers', /^USER\.\.\. is missing; usage: postern group add GROUP USER/],
  ['import wg-quick wg0.conf', /^--email is missing/],
  ['import wg-quick wg0.conf a@b c@d', /^"c@d" is too much/],
  ['device create a@b x y', /^"y" is too much/],
  ['device create a@b x --name y', /^"x" is too much/],
  ['device delete --email a@b', /^--email is not an option of device delete/],
  ['device delete x --email a@b --name y', /^"x" is too much/],
  ['device delete --id x --email a@b --name y', /^"a@b\/y" and --id exclude each other/],
  ['device delete --email= --name laptop', /^--email is empty; give an e-mail address/],
  // An owner may have called a device so that another one is meant.
  ['device delete --name 10.8.0.5', /^--name 10\.8\.0\.5 may be another device; give its owner/],
  ['device delete --name fd00::5', /^--name fd00::5 may be another device/],
  ['device delete --name a@b/x', /^--name a@b\/x may be another device/],
  ['device delete --name 0190a3c1', /^--name 0190a3c1 may be another device/],
  // It could delete the group, or end memberships.
  [
    'group rm engineers',
    /^there is no command "group rm"; did you mean `group delete` or `group remove`\?/,
  ],
  // The command comes before its options.
  ['devcie list --onlin', /^there is no command "devcie list"; did you mean `device list`\?/],
  ['device lst --onlin x', /^there is no command "device lst"; did you mean `device list`\?/],
  ['configuration set', /^NAME=VALUE is missing; usage: postern configuration set NAME=VALUE/],
  ['constructor', /there is no command/],
];
for (const [line, error] of bad)
  test(`"${line}" is complained about`, async (t) => {
    const parsed = await parseCommandLine(line.split(' '));
    t.true('error' in parsed);
    if ('error' in parsed) t.regex(parsed.error, error);
  });

for (const line of ['help', '--help', '-h', 'dance --help'])
  test(`"${line}" shows help that names every command`, async (t) => {
    const parsed = await parseCommandLine(line.split(' '));
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

test('help on one command tells its options and no other command', async (t) => {
  for (const line of ['user create --help', 'help user create', 'user create --email a@b -h']) {
    const parsed = await parseCommandLine(line.split(' '));
    if (!('help' in parsed)) return t.fail(line);
    t.regex(parsed.help, /^usage: postern user create EMAIL /);
    for (const option of ['--email E', '--role R', '--password-stdin', '--no-password', '--json'])
      t.true(parsed.help.includes(`\n  ${option} `), option);
    t.false(parsed.help.includes('device'));
  }
});

test('--version, or the word alone, says which version this is', async (t) => {
  t.deepEqual(await parseCommandLine(['--version']), { isVersion: true });
  t.deepEqual(await parseCommandLine(['version']), { isVersion: true });
  t.true('error' in (await parseCommandLine(['version', 'of', 'it'])));
});

test('help and completion name no verb of other programs', (t) => {
  for (const [verb, meant] of Object.entries(otherVerbs))
    for (const name of Object.keys(commands)) {
      const [noun = '', own = ''] = name.split(' ');
      if (!meant.includes(own)) continue;
      const typed = commandOf([noun, verb, 'x']);
      const isOwn = Object.hasOwn(commands, `${noun} ${verb}`);
      if (typed !== null) t.is(String(typed.name), isOwn ? `${noun} ${verb}` : name);
      t.deepEqual(typed?.rest ?? ['x'], ['x']);
    }
  t.is(commandOf(['group', 'rm', 'x']), null);
});

test('usage begins with what bare words stand for', (t) => {
  const words = Object.values(commands).flatMap((entry: Entry) =>
    wordsOf(entry).map((option) => nameOfNeeded(entry, option)),
  );
  t.deepEqual([...new Set(words)].toSorted(), [
    '--email',
    'DESTINATION',
    'DEVICE',
    'EMAIL',
    'GROUP',
    'ID',
    'NAME',
    'ROLE',
    'TIME',
    'oidc/ID|saml/ID',
    'saml/ID',
  ]);
});

test('--since takes the words for two days', async (t) => {
  const startOf = async (word: string): Promise<Date | undefined> => {
    const parsed = await parseCommandLine(['audit', 'list', '--since', word]);
    return 'command' in parsed ? parsed.command.options.since : undefined;
  };
  const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const before = Date.now();
  const [today, yesterday] = [await startOf('today'), await startOf('yesterday')];
  const days = [before, Date.now()].map(dayOf);
  t.true(days.some((day) => today?.getTime() === Date.parse(day)));
  t.true(days.some((day) => yesterday?.getTime() === Date.parse(day) - 86_400_000));
});
