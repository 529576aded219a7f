// The packets of a device in a test: where they were seen, what became of them, and the end.

import test from 'ava';
import { createGateway } from '../../../lib/testing/index.ts';

const HOST = '10.0.0.5';

test('packets are there as soon as they were sent, with what became of them', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ name: 'laptop' });
  const phone = await gateway.addDevice({ name: 'phone' });
  gateway.host(HOST);
  const rule = { action: 'drop', destination: '10.0.0.6', user_id: laptop.userId };
  const { id } = await gateway.api.post('/v0/rules', { rule });
  const begun = Date.now();
  using capture = await laptop.capture({ payload: true });
  t.deepEqual(capture.packets(), []);
  await laptop.udp(HOST, 7, 'hello');
  await phone.udp(HOST, 7, 'not of the laptop');
  const shown = capture.packets().map(({ place, reason, comment }) => [place, reason, comment]);
  t.deepEqual(shown, [
    ['from device', null, 'accept; default action'],
    ['to device', null, 'accept; default action'],
  ]);
  for (const { bytes, length, at } of capture.packets()) {
    t.is(bytes.length, length);
    t.is(String(bytes.subarray(28)), 'hello');
    t.true(at.getTime() >= begun - 1_000 && at.getTime() <= Date.now() + 1_000);
  }
  await t.throwsAsync(laptop.ping('10.0.0.6'));
  t.like(capture.packets()[2], { place: 'refused', reason: 'rule_drop', rule_id: String(id) });
  t.is(capture.packets()[2]?.comment, `drop; rule_drop; rule ${String(id)}`);
  t.is(capture.stop().length, 3);
  await laptop.udp(HOST, 7, 'after its end');
  t.is(capture.packets().length, 3);
});

test('a device that is deleted, and a gateway that is closed, have no capture', async (t) => {
  const gateway = await createGateway();
  const [laptop, phone] = [await gateway.addDevice(), await gateway.addDevice()];
  await gateway.api.delete(`/v0/devices/${laptop.id}`);
  for (let i = 0; i < 3; i++)
    await t.throwsAsync(laptop.capture(), { message: /404/ }, 'it keeps no place');
  using one = await phone.capture();
  using two = await phone.capture();
  t.deepEqual([one.packets(), two.packets()], [[], []]);
  await gateway.close();
  await t.throwsAsync(phone.capture(), { message: 'the gateway is closed' });
});

test('only what is asked for, and as much of it', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice();
  gateway.host(HOST);
  using refused = await laptop.capture({ only: 'refused' });
  using port = await laptop.capture({ protocol: 'udp', port: 9, snaplen: 20 });
  await laptop.udp(HOST, 7, 'x');
  await laptop.udp(HOST, 9, 'x'.repeat(500));
  await t.throwsAsync(laptop.ping('127.0.0.1'));
  const reasons = refused.packets().map(({ reason }) => reason);
  t.deepEqual(reasons, ['inner_destination_reserved']);
  const sizes = port.packets().map(({ bytes, length }) => [bytes.length, length]);
  t.deepEqual(sizes, [
    [20, 528],
    [20, 528],
  ]);
});

test('two run; one that ends makes room, and slips are named', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice();
  {
    using first = await laptop.capture();
    using second = await laptop.capture();
    t.deepEqual([first.packets(), second.packets()], [[], []]);
    await t.throwsAsync(laptop.capture(), { message: /two captures run/ });
  }
  using again = await laptop.capture();
  again.stop();
  t.deepEqual(again.stop(), []);
  await t.throwsAsync(laptop.capture({ prot: 'udp' } as object), {
    message: 'capture has no option prot; is port meant?',
  });
  await t.throwsAsync(laptop.capture({ port: 0 }), { message: /^capture: \{"port":/ });
});
