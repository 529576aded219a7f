// `postern explain`: what is asked of the gateway, and what people read of its answer.

import test from 'ava';
import { addDevice, addUser } from '../../support/database/records.ts';
import { openLocally } from '../../support/api/local-socket.ts';
import { fakeExplaining, passing } from '../../support/observe/fake-gateway.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

const explaining = fakeExplaining();

test('a device is named by id, address or name, and the answer lists every gate', async (t) => {
  const { database, run } = await openLocally(t, { explaining });
  const user = await addUser(database);
  const device = await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' });
  for (const word of ['laptop', '100.64.9.9', device.id, device.id.toUpperCase()]) {
    const outcome = await run('explain', word, '192.0.2.1', 'tcp/443');
    t.like(outcome?.data, { verdict: 'accept', gateway_id: GATEWAY, reason: null }, word);
    t.regex(String(outcome?.text), /^accept: It passes\./m);
    t.regex(String(outcome?.text), /^ok {2}device_on +The device is switched on\.$/m);
  }
});

test('without a protocol a ping is meant; an address of nobody is a host that sends', async (t) => {
  const { database, run } = await openLocally(t, { explaining });
  const user = await addUser(database);
  await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' });
  await addDevice(database, user.id, { name: 'phone', ipv4: '100.64.9.10' });
  for (const words of [
    ['laptop', '192.0.2.1'],
    ['laptop', 'phone', 'icmp'],
    ['192.0.2.1', '100.64.9.9', 'udp/53'],
  ])
    t.like((await run('explain', ...words))?.data, { verdict: 'accept' }, words.join(' '));
});

test('the first line says what was asked', async (t) => {
  const { database, run } = await openLocally(t, { explaining });
  const user = await addUser(database);
  const fields = { name: 'laptop', ipv4: '100.64.9.9', routes: ['192.168.7.0/24'] };
  await addDevice(database, user.id, fields);
  const table: [words: string[], line: string][] = [
    [
      ['laptop', '192.0.2.1'],
      'asked: from laptop to 192.0.2.1, icmp (a ping, because no protocol was named)',
    ],
    [['laptop', '192.0.2.1', 'ICMP'], 'asked: from laptop to 192.0.2.1, icmp (a ping)'],
    [['192.0.2.1', 'laptop', 'udp/53'], 'asked: from 192.0.2.1 to laptop, udp/53'],
    [
      ['laptop', '192.0.2.1', 'tcp/443', '--source', '192.168.7.4', '--size', '1400'],
      'asked: from 192.168.7.4 behind laptop to 192.0.2.1, tcp/443, 1400 bytes',
    ],
  ];
  for (const [words, line] of table)
    t.is((await run('explain', ...words))?.text.split('\n')[0], line);
});

test('a gate at which the packet waits is marked', async (t) => {
  const { database, run } = await openLocally(t, {
    explaining: fakeExplaining(async () => ({ ...passing, waitsFor: ['sender'] })),
  });
  const user = await addUser(database);
  await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' });
  const outcome = await run('explain', 'laptop', '192.0.2.1', 'tcp/443');
  t.regex(String(outcome?.text), /^accept: Nothing refuses it\. .* it must connect first\. Let /m);
  t.regex(String(outcome?.text), /^\.\. {2}served +The device that sends it has no session/m);
});

test('the size of the packet is asked with it', async (t) => {
  const sizes: number[] = [];
  const { database, run } = await openLocally(t, {
    explaining: fakeExplaining(async ({ packet }) => (sizes.push(packet.length), null)),
  });
  const user = await addUser(database);
  await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' });
  await run('explain', 'laptop', '192.0.2.1', 'udp/53', '--size', '1400');
  t.deepEqual(sizes, [1_400]);
  for (const [size, error] of [
    ['19', /^size: must be greater than or equal to 20$/],
    ['much', /^size: is invalid; give bytes/],
    ['27', /^size: must be at least 28, which the headers of the packet take$/],
  ] as const)
    await t.throwsAsync(run('explain', 'laptop', '192.0.2.1', 'icmp', '--size', size), {
      message: error,
    });
});

test('a host behind the device is named by its address', async (t) => {
  const senders: (string | null)[] = [];
  const { database, run } = await openLocally(t, {
    explaining: fakeExplaining(async ({ from, packet }) => {
      senders.push(from, packet.subarray(12, 16).join('.'));
      return null;
    }),
  });
  const user = await addUser(database);
  const fields = { name: 'router', ipv4: '100.64.9.9', routes: ['192.168.7.0/24'] };
  const device = await addDevice(database, user.id, fields);
  for (const word of ['router', '100.64.9.9', device.id]) {
    await run('explain', word, '192.0.2.1', 'tcp/443', '--source', '192.168.7.4');
    t.deepEqual(senders.splice(0), [device.public_key, '192.168.7.4'], word);
  }
  for (const [words, error] of [
    [['router', '--source', 'x'], /^source: is invalid; give the address of a host behind/],
    [['192.0.2.9', '--source', '192.168.7.4'], /^there is no device 192\.0\.2\.9/],
  ] as const) {
    const [sender, ...options] = words;
    const asked = run('explain', sender, '192.0.2.1', 'icmp', ...options);
    await t.throwsAsync(asked, { message: error });
  }
});

test('what the gateway refuses is said in its words, with what can be typed', async (t) => {
  const { database, run } = await openLocally(t, { explaining });
  const user = await addUser(database);
  await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.1' });
  const table: [words: string[], error: RegExp][] = [
    [
      ['laptop', '192.0.2.1', 'gre'],
      /^protocol: is invalid; give tcp\/443, udp\/53, icmp \(in place of 1 and 58\), or the number of another protocol, such as 47$/,
    ],
    [['laptop', '192.0.2.1', 'tcp'], /^port: can't be blank; give tcp\/443 or udp\/53$/],
    [['laptop', '192.0.2.1', 'tcp/x'], /^port: is invalid; give tcp\/443 or udp\/53$/],
    [['laptop', '192.0.2.1', 'icmp/7'], /^port: must not be present/],
    [['laptop', 'files.example'], /^there is no device files\.example/],
    [
      ['192.0.2.1', '192.0.2.2'],
      /^destination: is the address of no device, and the sender is no device either/,
    ],
  ];
  for (const [words, error] of table) {
    const { message } = (await t.throwsAsync(run('explain', ...words))) ?? {};
    t.regex(String(message), error, words.join(' '));
  }
});
