// `postern diagnose`: what people read of the gateway's answer, and that a terminal obeys none of
// it.

import test from 'ava';
import type { Trace } from '../../../dataplane/index.ts';
import { addDevice, addUser } from '../../support/database/records.ts';
import { openLocally } from '../../support/api/local-socket.ts';
import { linesAt } from '../../support/api/terminal.ts';
import { fakeDiagnosing, silentTrace } from '../../support/observe/fake-gateway.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const AT = Date.UTC(2026, 0, 1);
const endpoint = { address: '2001:db8::7', port: 9 };

const trace: Trace = {
  ...silentTrace,
  attempts: [
    {
      kind: 'answered',
      reason: null,
      endpoint,
      count: 7,
      firstAtMs: AT,
      lastAtMs: AT,
      confirmedAtMs: null,
      datedMs: null,
      latestDatedMs: null,
    },
  ],
};
const stranger = { endpoint, count: 3, firstAtMs: AT, lastAtMs: AT };

test('a device is named by id, address or name', async (t) => {
  const diagnosing = fakeDiagnosing(GATEWAY, { diagnose: async () => trace });
  const { database, run } = await openLocally(t, { diagnosing });
  const user = await addUser(database);
  const device = await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' });
  for (const word of ['laptop', '100.64.9.9', device.id]) {
    const outcome = await run('diagnose', word);
    t.like(outcome?.data, { code: 'not_confirmed', gateway_id: GATEWAY }, word);
    t.regex(String(outcome?.text), /^not_confirmed: Its handshakes are answered, but /);
    t.regex(String(outcome?.text), /^unconfirmed +device +\[2001:db8::7\]:9 +7 +2026-01-01T/m);
  }
  await t.throwsAsync(run('diagnose', 'phone'), {
    message: /^there is no device phone; DEVICE is .*; see: /,
  });
});

test('unknown senders are listed beside a device that is not heard, and alone', async (t) => {
  const now = Date.now();
  const keys = [{ ...stranger, firstAtMs: now, lastAtMs: now, publicKey: 'KEY=' }];
  const diagnosing = fakeDiagnosing(GATEWAY, {
    unknownSenders: async () => ({ keys, otherGateway: [stranger] }),
  });
  const { database, run } = await openLocally(t, { diagnosing });
  const user = await addUser(database);
  await addDevice(database, user.id, { name: 'laptop' });
  const { text } = (await run('diagnose', 'laptop'))!;
  t.regex(text, /^nothing_arrived: /);
  t.regex(text, /Unknown senders of the last minutes:\nKEY +FROM .*\nKEY= +\[2001:db8::7\]:9 +3 /);
  t.notRegex(text, /another gateway\)/, 'that was long ago');
  const all = (await run('diagnose'))!;
  t.regex(all.text, /^KEY= +\[2001:db8::7\]:9 +3 /m);
  t.regex(all.text, /^\(for another gateway\) +\[2001:db8::7\]:9 +3 /m);
  t.like(all.data, { gateway_id: GATEWAY });
});

test('the table of senders fits a terminal, with whole keys and addresses', async (t) => {
  const publicKey = 'bmV2ZXIgY3V0IGEga2V5LCBuZXZlciBjdXQgYSBrZXkh=';
  const unknownSenders = async () => ({ keys: [{ ...stranger, publicKey }], otherGateway: [] });
  const diagnosing = fakeDiagnosing(GATEWAY, { unknownSenders });
  const { run } = await openLocally(t, { diagnosing });
  t.deepEqual(linesAt(t, await run('diagnose'), 80, AT + 60_000), [
    'KEY                                            FROM             COUNT  FIRST',
    '  LAST',
    `${publicKey}  [2001:db8::7]:9  3      1 min ago`,
    '  1 min ago',
  ]);
  t.is(linesAt(t, await run('diagnose'), 200).length, 2);
});

test('nobody unknown', async (t) => {
  const { run } = await openLocally(t, { diagnosing: fakeDiagnosing(GATEWAY) });
  t.is(
    (await run('diagnose'))?.text,
    'Nobody unknown has sent a handshake since the gateway was started.',
  );
});
