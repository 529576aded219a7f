// Refused packets as API, console and command line show them, at a whole gateway in memory.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { listRefusals } from '../../../../lib/observe/live/refusals.ts';
import { createGateway } from '../../../../lib/testing/index.ts';
import { fakeLive, refusalOf } from '../../../support/observe/fake-gateway.ts';

test('a refused packet has its reason in words, its rule, and how often it came', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const phone = await gateway.addDevice({ user: 'bob@example.com' });
  const rule = { action: 'drop', destination: '10.0.0.6', user_id: laptop.userId };
  const { id } = await gateway.api.post('/v0/rules', { rule });
  t.deepEqual(await gateway.refusals(), []);
  for (let i = 0; i < 2; i++) {
    await t.throwsAsync(laptop.udp('10.0.0.6', 53, 'question'));
    // Times are whole milliseconds, and what is refused in the same one has no order.
    await sleep(5);
  }
  await t.throwsAsync(phone.udp('127.0.0.1', 9, 'x'));
  const [latest, first, ...others] = await gateway.refusals();
  t.deepEqual(others, []);
  t.like(latest, { device_id: phone.id, reason: 'inner_destination_reserved', rule_id: null });
  t.like(first, {
    device_id: laptop.id,
    direction: 'from_device',
    source: laptop.ipv4,
    destination: '10.0.0.6',
    protocol: 'udp',
    port: 53,
    reason: 'rule_drop',
    text: 'A rule drops it.',
    rule_id: String(id),
    count: 2,
  });
  t.true(first!.first_at < first!.last_at);
  t.deepEqual(await laptop.refusals(), [first]);
  t.deepEqual(await gateway.api.get(`/v0/refusals?user_id=${phone.userId}`), [latest]);
  t.deepEqual(await gateway.api.get('/v0/refusals?reason=rule_drop'), [first]);
  t.deepEqual(await gateway.api.get('/v0/refusals?limit=1'), [latest]);
  await gateway.api.delete(`/v0/devices/${laptop.id}`);
  t.deepEqual(await gateway.refusals(), [latest], 'with the device goes what it was refused');
});

test('what came for a device, and what nobody could read', async (t) => {
  const unread = { source: null, destination: null, protocol: null, port: null };
  const live = fakeLive('a', {
    refusals: async () => [
      refusalOf('key', { isSent: false, protocol: 47 }),
      refusalOf('k', unread),
    ],
  });
  const filter = { deviceId: null, userId: null, reason: null };
  const [to, from] = await listRefusals(live, filter, 10);
  t.like(to, { direction: 'to_device', protocol: '47', device_id: null });
  t.like(from, { direction: 'from_device', ...unread });
});
