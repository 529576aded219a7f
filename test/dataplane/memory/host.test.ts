// Hosts and devices ask each other through a gateway, and a request without an answer says why.

import test from 'ava';
import type { Asker } from '../../../dataplane/memory/host.ts';
import { NoAnswerError } from '../../../dataplane/memory/no-answer.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import { MemoryScene } from './scene.ts';

const FAMILIES = [
  { lan: '192.0.2.80', own: 'ipv4', range: '192.0.2.0/24' },
  { lan: '2001:db8::80', own: 'ipv6', range: '2001:db8::/32' },
] as const;

for (const { lan, own, range } of FAMILIES) {
  test(`${own}: a device asks a host behind the TUN, and the host asks the device`, async (t) => {
    const scene = new MemoryScene(t);
    const { device } = await scene.addDevice(2);
    const host = scene.addHost(lan);
    t.true((await device.ping(lan)).ms >= 0);
    t.is(String(await device.udp(lan, 53, 'question')), 'question');
    const connection = await device.connect(lan, 80);
    t.is(String(await connection.exchange('GET /')), 'GET /');
    await connection.close();
    const inside = device[own]!;
    t.true((await host.ping(inside)).ms >= 0);
    t.is(String(await host.udp(inside, 9, Buffer.from([1, 2]))), '\u0001\u0002');
    t.is(String(await (await host.connect(inside, 22)).exchange('SSH')), 'SSH');
    t.deepEqual(scene.gateway.drops(), {});
  });

  test(`${own}: what a rule drops is refused at once, with the reason, and open connections end`, async (t) => {
    const scene = new MemoryScene(t);
    const { device } = await scene.addDevice(2);
    scene.addHost(lan);
    const connection = await device.connect(lan, 80);
    await scene.setRules(rule('no', 'drop', range));
    const asked = [
      () => device.ping(lan),
      () => device.udp(lan, 53, 'x'),
      () => device.connect(lan, 80),
      () => connection.send('x'),
    ];
    for (const ask of asked) {
      const error = await t.throwsAsync(ask(), { instanceOf: NoAnswerError, code: 'NO_ANSWER' });
      t.regex(error.message, /the gateway refused it \(rule_drop: 1\)$/);
      t.deepEqual(error.refusals, { rule_drop: 1 });
    }
    await scene.setRules();
    t.is(String(await connection.exchange('y')), 'xy', 'what was not acknowledged is sent again');
  });
}

test('what is no port is refused, and not cut to another port', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  scene.addHost('192.0.2.80');
  for (const port of [0, -1, 65_536 + 443, 1.5, Number.NaN]) {
    const message = `${port} is no port, which is a whole number from 1 to 65535`;
    await t.throwsAsync(device.udp('192.0.2.80', port, 'x'), { instanceOf: TypeError, message });
    await t.throwsAsync(device.connect('192.0.2.80', port), { instanceOf: TypeError, message });
    t.throws(() => scene.addHost('192.0.2.81', { ports: [port] }), { message });
  }
});

test('two devices ask each other through the gateway', async (t) => {
  const scene = new MemoryScene(t);
  const { device: one } = await scene.addDevice(2);
  const { device: other } = await scene.addDevice(3);
  await one.ping('10.0.0.3');
  t.is(String(await other.udp('fd00::2', 7, 'x')), 'x');
  await (await other.connect('10.0.0.2', 22)).close();
});

test('a host answers as its owner says', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  const askers: Asker[] = [];
  scene.addHost('192.0.2.53', {
    udp: (data, asker) => {
      askers.push(asker);
      return data.length === 0 ? null : `${String(data)}!`;
    },
    tcp: (data) => data.toString().toUpperCase(),
    ports: [80, 443],
  });
  t.is(String(await device.udp('192.0.2.53', 53, 'name')), 'name!');
  t.is(askers[0]?.address, '10.0.0.2');
  t.is(askers[0]?.at, 53);
  await t.throwsAsync(device.udp('192.0.2.53', 53, ''), { message: /refused nothing, and nobody/ });
  t.is(String(await (await device.connect('192.0.2.53', 443)).exchange('get')), 'GET');
  await t.throwsAsync(device.connect('192.0.2.53', 22), {
    message: /192\.0\.2\.53 port 22 .*no such port/,
    code: 'ECONNREFUSED',
  });
});

test('one answer belongs to one request', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  scene.addHost('192.0.2.53');
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => device.udp('192.0.2.53', 53, `question ${i}`)),
  );
  t.deepEqual(
    answers.map(String),
    Array.from({ length: 20 }, (_, i) => `question ${i}`),
  );
});

test('if no host has the address, the message says how to add one', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  await t.throwsAsync(device.ping('192.0.2.99'), {
    message: /let it pass, and nobody is at 192\.0\.2\.99; .*gateway\.host\('192\.0\.2\.99'\)/,
  });
  await t.throwsAsync(device.ping('10.0.0.77'), { message: /refused it \(no_peer: 1\)/ });
});

test('an impossible request is refused in words', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  const host = scene.addHost('192.0.2.1');
  await t.throwsAsync(device.ping('example.com'), { message: 'example.com is no IP address' });
  await t.throwsAsync(host.ping('fd00::2'), { message: /fd00::2 is IPv6, of which this host has/ });
});

test('a datagram that does not fit the tunnel is refused as too big', async (t) => {
  const scene = new MemoryScene(t);
  const host = scene.addHost('192.0.2.1');
  await scene.addDevice(2);
  const error = await t.throwsAsync(host.udp('10.0.0.2', 9, new Uint8Array(1_300)), {
    instanceOf: NoAnswerError,
  });
  t.deepEqual(error.refusals, { packet_too_big: 1 });
});
