// `postern traffic`: of what a history is asked, and how people, programs and spreadsheets get it.

import test from 'ava';
import { recordHistory } from '../../../models/index.ts';
import { openLocally } from '../../support/api/local-socket.ts';
import { linesAt } from '../../support/api/terminal.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const STEP_S = 600;

/** A gateway with the traffic of two steps, an hour ago. */
async function open(t: Parameters<typeof openLocally>[0]) {
  const opened = await openLocally(t);
  const { database } = opened;
  const user = await addUser(database, { email: 'alice@example.com' });
  const device = await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' });
  const rule = await addRule(database, { destination: '10.0.0.0/8' });
  const start = Math.floor(Date.now() / 1_000 / STEP_S) * STEP_S - 3_600;
  const of = (subject: string, ...counts: number[]) => ({ subject, start, counts });
  const later = { subject: device.id, start: start + STEP_S, counts: [5, 6] };
  await recordHistory(database, GATEWAY, 'device', [of(device.id, 100, 200), later]);
  await recordHistory(database, GATEWAY, 'gateway', [of('', 1_000, 2_000)]);
  await recordHistory(database, GATEWAY, 'rule', [of(rule.id, 7, 700)]);
  await recordHistory(database, GATEWAY, 'refusal', [of('rule_drop', 9), of('default_drop', 2)]);
  const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
  const time = (seconds: number): string => at(seconds).replace('.000Z', 'Z');
  return { ...opened, device, rule, start, at, time };
}

const GONE = '01900000-0000-7000-8000-00000000dead';

test('of a device, a user, a group, a rule and all, as a table of what was counted', async (t) => {
  const { run, send, device, rule, start, time } = await open(t);
  const made = await send('POST', '/v0/groups', { body: { group: { name: 'carriers' } } });
  await send('PUT', `/v0/groups/${made.body.data.id}/members/alice@example.com`);
  for (const words of [
    ['laptop'],
    ['100.64.9.9'],
    [device.id],
    ['--user', 'Alice@example.com'],
    ['--group', 'carriers'],
  ]) {
    const outcome = await run('traffic', ...words);
    const [span, ...lines] = String(outcome?.text).split('\n');
    t.regex(String(span), /^\S+Z to \S+Z, steps of 600 s$/);
    t.deepEqual(
      lines.map((line) => line.split(/ {2,}/)),
      [
        ['SINCE', 'UPLOADED', 'DOWNLOADED'],
        [time(start), '100', '200'],
        [time(start + STEP_S), '5', '6'],
        ['all', '105', '206'],
      ],
      words.join(' '),
    );
    t.like(outcome?.data, { step: 600, totals: { rx_bytes: 105, tx_bytes: 206 } });
  }
  const ofRule = await run('traffic', '--rule', rule.id);
  t.regex(String(ofRule?.text), /^all +7 +700$/m);
  const all = await run('traffic');
  t.regex(String(all?.text), /^all +1000 +2000 +11$/m);
  t.regex(String(all?.text), /\n\nREFUSED BECAUSE OF +PACKETS\nrule_drop +9\ndefault_drop +2$/);
  t.regex(String((await run('traffic', '--reason', 'default_drop'))?.text), /^all .* 2$/m);
});

test('of the time and in the steps that were asked for', async (t) => {
  const { run, start, at, time } = await open(t);
  const [from, to] = [at(start), at(start + STEP_S)];
  const one = await run('traffic', 'laptop', '--from', from, '--to', to);
  t.like(one?.data, { totals: { rx_bytes: 100 }, points: { length: 1 } });
  t.regex(String(one?.text), new RegExp(`^${time(start)} to ${time(start + STEP_S)},`));
  t.like((await run('traffic', '--step', '3600'))?.data, { step: 3_600 });
  const before = await run('traffic', 'laptop', '--from', '2026-01-01', '--to', '2026-01-03');
  t.is(
    before?.text,
    'nothing was counted, 2026-01-01T00:00:00Z to 2026-01-03T00:00:00Z, steps of 86400 s',
  );
});

test('a terminal gets bytes in units and times of the clock', async (t) => {
  const { run, start, time } = await open(t);
  const [, ...lines] = linesAt(t, await run('traffic'), 80);
  t.deepEqual(
    lines.map((line) => line.split(/ {2,}/)),
    [
      ['SINCE', 'UPLOADED', 'DOWNLOADED', 'PACKETS REFUSED'],
      [time(start), '1.0 kB', '2.0 kB', '11'],
      ['all', '1.0 kB', '2.0 kB', '11'],
      [''],
      ['REFUSED BECAUSE OF', 'PACKETS'],
      ['rule_drop', '9'],
      ['default_drop', '2'],
    ],
  );
  const since = await run('traffic', '--since', 'yesterday');
  t.regex(since?.text ?? '', /1000 +2000 +11/);
  const none = await run('traffic', '--since', '2026-01-01', '--to', '2026-01-03');
  t.is(linesAt(t, none, 100).length, 1);
  const nothing = await run('traffic', '--from', '2026-01-01', '--to', '2026-01-03');
  t.is(linesAt(t, nothing, 100).length, 1);
});

test('a file for spreadsheets is what the API answers', async (t) => {
  const { run, send, device } = await open(t);
  const { text } = await send('GET', `/v0/devices/${device.id}/traffic?format=csv`);
  const outcome = await run('traffic', 'laptop', '--csv');
  t.is(`${outcome?.text}\n`, text);
  t.regex(text, /^at,rx_bytes,tx_bytes\r\n/);
});

test('what cannot be asked is refused in words', async (t) => {
  const { run } = await open(t);
  for (const [words, message] of [
    [['phone'], /^there is no device phone/],
    [['--user', 'bob@example.com'], /^there is no user bob/],
    [['--group', 'staff'], /^there is no group staff/],
    [['--rule', '../users'], /^there is no rule \.\.\/users; see: /],
    [['--group', GONE], /^there is no group 01/],
    [['laptop', '--rule', 'x'], /^name one of these: a device, --user, --group, --rule/],
    [['--user', 'alice@example.com', '--reason', 'rule_drop'], /^name one of these/],
    [['--step', 'x'], /^step: must be 600, 3600 or 86400$/],
    [['--step', '60'], /^step: must be 600, 3600 or 86400$/],
    [['--reason', 'none'], /^reason: is invalid; give a reason, such as rule_drop/],
    [['--from', '2126-01-01'], /^from: must be before `to`/],
  ] as const)
    await t.throwsAsync(run('traffic', ...words), { message }, words.join(' '));
});
