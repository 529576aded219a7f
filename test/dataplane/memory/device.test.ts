// Devices in memory: they make handshakes, are removed and added again, go offline, and move.

import test from 'ava';
import { rule } from '../../support/dataplane/simulation.ts';
import { MemoryScene } from './scene.ts';

test('a device that was removed is refused, and served again when it is added', async (t) => {
  const scene = new MemoryScene(t);
  const { device, key } = await scene.addDevice(2);
  t.true(device.isConnected);
  await device.ping('10.0.0.3').catch(() => undefined);
  scene.addHost('192.0.2.80');
  await device.ping('192.0.2.80');
  const config = await scene.setPeer(key, null);
  for (let i = 0; i < 3; i++) {
    await t.throwsAsync(device.ping('192.0.2.80'), {
      message: /the gateway refused it \(initiation_unknown_peer: 1\)/,
    });
    t.false(device.isConnected);
  }
  await scene.setPeer(key, config);
  await device.ping('192.0.2.80');
  t.true(device.isConnected);
});

test('if only the device has a session, a new one begins within the same request', async (t) => {
  const scene = new MemoryScene(t);
  const { device, key } = await scene.addDevice(2);
  const host = scene.addHost('192.0.2.80');
  for (let i = 0; i < 5; i++) {
    const config = await scene.setPeer(key, null);
    await scene.setPeer(key, config);
    await device.ping('192.0.2.80');
    await host.ping('10.0.0.2');
  }
  t.is(scene.gateway.drops()['transport_unknown_index'], 5);
});

test('a device with another preshared key gets an error about failed handshakes', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2, { peerKey: new Uint8Array(32).fill(7) });
  t.false(device.isConnected);
  await t.throwsAsync(device.ping('10.0.0.1'), {
    message: /handshake_unconfirmed: 1\); the device refused what came \(response_invalid: 1\)/,
  });
});

test('a device goes offline and comes back', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  const host = scene.addHost('192.0.2.80');
  device.offline();
  device.offline();
  await t.throwsAsync(host.ping('10.0.0.2'), { message: /nobody answered; is 10\.0\.0\.2 online/ });
  await t.throwsAsync(device.ping('192.0.2.80'), { message: 'the device is offline' });
  for (let i = 0; i < 3; i++) {
    device.online();
    await host.ping('10.0.0.2');
    device.offline();
  }
  device.online();
  device.online();
  await device.ping('192.0.2.80');
});

test('a device that moves is answered at its new address', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  const host = scene.addHost('192.0.2.80');
  const connection = await device.connect('192.0.2.80', 22);
  device.roam({ address: '203.0.113.9', port: 12_345 });
  await t.throwsAsync(host.ping('10.0.0.2'), { message: /nobody answered/ });
  t.is(String(await connection.exchange('still here')), 'still here');
  await host.ping('10.0.0.2');
  const sample = await scene.gateway.sample();
  t.deepEqual(sample.peers[0]?.endpoint, { address: '203.0.113.9', port: 12_345 });
});

test('with the default action drop, packets without a rule are refused', async (t) => {
  const scene = new MemoryScene(t, 'drop');
  const { device } = await scene.addDevice(2);
  scene.addHost('192.0.2.80');
  await t.throwsAsync(device.ping('192.0.2.80'), { message: /default_drop: 1/ });
  const web = { type: 'tcp', first: 443 } as const;
  await scene.setRules(rule('yes', 'accept', '192.0.2.80', web));
  await (await device.connect('192.0.2.80', 443)).close();
  await t.throwsAsync(device.connect('192.0.2.80', 80), { message: /default_drop: 1/ });
});
