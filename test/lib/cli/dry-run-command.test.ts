// `--dry-run`: which operation a command comes to, and what people read of the answer.

import test from 'ava';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import { outcomeOf } from '../../../lib/cli/outcome.ts';
import {
  newId,
  readGroups,
  readMembers,
  registerGateway,
  writeTransaction,
} from '../../../models/index.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import { openLocally } from '../../support/api/local-socket.ts';
import { logInto } from '../../support/api/server.ts';
import { fakeLive, flowOf, refusalOf } from '../../support/observe/fake-gateway.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

const live = fakeLive(GATEWAY, {
  effectOf: async () => ({
    ended: { count: 14, found: [flowOf('a key')], devices: ['a key'] },
    passed: { count: 1, found: [refusalOf('a key')] },
  }),
  userIdOf: (key) => key,
});

test('what a command would do is said, and it does nothing', async (t) => {
  const { database, run } = await openLocally(t, { live });
  const user = await addUser(database, { email: 'ann@example.com' });
  const device = await addDevice(database, user.id);
  const rule = await addRule(database, { destination: '10.0.0.9' });
  const { result: group } = await writeTransaction(database, (transaction) =>
    database.models.Group.create({ name: 'staff' }, { transaction }),
  );
  const table: string[][] = [
    ['rule', 'create', '--destination', '10.0.0.6', '--email', 'ann@example.com'],
    ['rule', 'delete', '--id', rule.id],
    ['device', 'delete', '--id', device.id],
    ['device', 'disable', '--id', device.id],
    ['device', 'expire', '--id', device.id, '--at', '2020-01-01'],
    ['user', 'disable', '--email', 'ann@example.com'],
    ['user', 'delete', '--email', 'ann@example.com'],
    ['user', 'limit', '--email', 'Ann@example.com', '--quota', '1000000', '--down', 'none'],
    ['group', 'add', 'ann@example.com', '--group', 'staff'],
    ['group', 'remove', 'ann@example.com', '--group', group.id],
    ['group', 'delete', '--group', 'staff'],
  ];
  for (const words of table) {
    const outcome = await run(...words, '--dry-run');
    t.like(outcome?.data, { ended_flow_count: 14, gateway_id: GATEWAY }, words.join(' '));
    const text = String(outcome?.text);
    t.regex(text, /^It would end 14 flows of 1 person:\nfrom +to /i);
    t.regex(text, /Refused lately, and it would pass \(1\):\ndevice +from /i);
    t.regex(text, /\nNothing is changed\.$/);
  }
  const { Rule, Device, User } = database.models;
  t.deepEqual(await Promise.all([Rule.count(), Device.count()]), [1, 1]);
  t.like((await User.findByPk(user.id))?.get(), { disabled_at: null, quota: null });
  t.is((await readGroups(database, {})).length, 1);
  t.deepEqual(await readMembers(database, group.id, {}), []);
  t.like((await Device.findByPk(device.id))?.get(), { disabled_at: null, expires_at: null });
  t.is(await run('rule', 'delete', '--id', rule.id), null, 'without it, another command');
});

test('where other gateways run, it is said that only this one was asked', async (t) => {
  const { database, run } = await openLocally(t, { live: fakeLive(GATEWAY) });
  await registerGateway(database, { id: newId(), name: 'berlin', startedAt: new Date() });
  const outcome = await run('rule', 'create', '--destination', '10.0.0.6', '--dry-run');
  t.is(
    outcome?.text,
    'It would end no flow at this gateway.\n\nOnly flows at this gateway are counted. berlin runs too: ask it what ends there.\n\nNothing is changed.',
  );
});

test('the rule that is typed is the one that is tried', async (t) => {
  const { database, run } = await openLocally(t, { live: fakeLive(GATEWAY) });
  const user = await addUser(database, { email: 'ann@example.com' });
  const words = ['--destination', '10.0.0.0/8', '--action', 'accept', '--port-type', 'tcp'];
  const ports = ['--port-range', '80-90', '--email', 'Ann@example.com'];
  const outcome = await run('rule', 'create', ...words, ...ports, '--dry-run');
  t.like(outcome?.data, {
    record: {
      action: 'accept',
      destination: '10.0.0.0/8',
      port_type: 'tcp',
      port_range: '80 - 90',
      user_id: user.id,
    },
  });
  t.is(outcome?.text, 'It would end no flow.\n\nNothing is changed.');
});

test('what would be refused is said in words, with what can be typed', async (t) => {
  const { database, run } = await openLocally(t, { live: fakeLive(GATEWAY) });
  const table: [words: string[], error: RegExp][] = [
    [
      ['rule', 'create', '--destination', 'files'],
      /^destination: is invalid; give --destination 10/,
    ],
    [
      ['rule', 'create', '--destination', '10.0.0.1', '--email', 'x@y.z'],
      /^there is no user x@y\.z/,
    ],
    [
      ['user', 'limit', '--email', 'bob@example.com', '--quota', '1G'],
      /^--quota is in a unit that is not known\. Did you mean 1GB\?$/,
    ],
    [['user', 'limit', '--email', 'bob@example.com'], /^give --down or --up: /],
  ];
  await addUser(database, { email: 'bob@example.com' });
  for (const [words, message] of table)
    await t.throwsAsync(run(...words, '--dry-run'), { message }, words.join(' '));
  const drop = { destination: '10.0.0.0/24', action: 'drop' } as const;
  const user = await addUser(database, { email: 'ann@example.com' });
  const { id } = await addRule(database, { ...drop, user_id: user.id });
  const wide = ['--destination', '10.0.0.0/8', '--action', 'accept', '--email', 'ann@example.com'];
  const outcome = await run('rule', 'create', ...wide, '--dry-run');
  t.regex(String(outcome?.text), new RegExp(`never decide any more \\(1\\): ${id}`));
});

test('what is not there is named as without --dry-run', async (t) => {
  const { database, config, run } = await openLocally(t, { live: fakeLive(GATEWAY) });
  const id = newId();
  const table = [
    ...['update --staged', 'enable', 'disable', 'delete'].flatMap((verb) => [
      `rule ${verb} --id nope`,
      `rule ${verb} --id ${id}`,
    ]),
    ...['delete', 'disable', 'expire --at never'].flatMap((verb) => [
      `device ${verb} --id nope`,
      `device ${verb} --id ${id}`,
    ]),
    'user disable --email x@b.example',
    'user delete --email x@b.example',
    'user limit --email x@b.example --quota none',
    'group delete --group nope',
    `group delete --group ${id}`,
    `group add x@b.example --group ${id}`,
    'rule create --destination 10.0.0.1 --email x@b.example',
    `rule create --destination 10.0.0.1 --group ${id}`,
  ];
  const open = async () => database;
  for (const line of table) {
    const parsed = await parseCommandLine(line.split(' '));
    if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
    const typed = outcomeOf(parsed.command, { config, database, open, log: logInto([]) });
    const written = await t.throwsAsync(typed, { message: /^there is no .*; see: / }, line);
    const tried = await t.throwsAsync(run(...line.split(' '), '--dry-run'), undefined, line);
    t.is(tried?.message, written?.message, line);
  }
});
