// Ended flows as API, console and command line show them, at a whole gateway in memory.

import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import type { ShownEndedFlow } from '../../../../lib/observe/live/fields.ts';
import { readEndedCursor, writeEndedCursor } from '../../../../lib/observe/live/ended-flows.ts';
import { createGateway, type TestGateway } from '../../../../lib/testing/index.ts';

/** Asks until so many flows have ended: that is noticed within seconds. */
async function whenEnded(gateway: TestGateway, count: number): Promise<readonly ShownEndedFlow[]> {
  for (let i = 0; i < 200; i++) {
    const flows = await gateway.endedFlows();
    if (flows.length >= count) return flows;
    await pause(100);
  }
  return gateway.endedFlows();
}

test('a flow that ended says whose it was, what it carried, and why it ended', async (t) => {
  await using gateway = await createGateway({ settings: { DEFAULT_ACTION: 'drop' } });
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  gateway.host('10.0.0.5');
  const rule = { action: 'accept', destination: '10.0.0.0/8', user_id: laptop.userId };
  const { id } = await gateway.api.post('/v0/rules', { rule });
  await laptop.udp('10.0.0.5', 53, 'question');
  t.deepEqual(await gateway.endedFlows(), []);
  await gateway.api.delete(`/v0/rules/${String(id)}`);
  const [flow, ...others] = await whenEnded(gateway, 1);
  t.deepEqual(others, []);
  t.like(flow, {
    source: laptop.ipv4,
    source_device_id: laptop.id,
    source_user_id: laptop.userId,
    destination: '10.0.0.5',
    port: 53,
    destination_device_id: null,
    destination_user_id: null,
    protocol: 'udp',
    answered: true,
    decided_by: 'default',
    rule_id: null,
    sent_packets: 1,
    sent_bytes: 28 + 8,
    reply_packets: 1,
    ended_because: 'refused',
  });
  t.true(flow!.ended_at >= flow!.last_seen_at);
  t.deepEqual(await laptop.endedFlows(), [flow]);
});

test('a device with the key of a deleted one has none of its flows', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  gateway.host('10.0.0.5');
  await laptop.udp('10.0.0.5', 53, 'question');
  await gateway.api.delete(`/v0/devices/${laptop.id}`);
  const [before] = await whenEnded(gateway, 1);
  const { id: user_id } = await gateway.api.post<{ id: string }>('/v0/users', {
    user: { email: 'bob@example.com' },
  });
  const device = { user_id, public_key: laptop.publicKey };
  const { id } = await gateway.api.post<{ id: string }>('/v0/devices', { device });
  t.deepEqual(await gateway.api.get(`/v0/ended_flows?device_id=${id}`), []);
  t.deepEqual(await gateway.api.get(`/v0/ended_flows?user_id=${user_id}`), []);
  const unnamed = [{ ...before, source_device_id: null }];
  t.deepEqual(await gateway.endedFlows(), unnamed);
  t.deepEqual(await gateway.api.get(`/v0/ended_flows?device_id=${laptop.id}`), []);
  t.deepEqual(await gateway.api.get(`/v0/ended_flows?user_id=${laptop.userId}`), unnamed);
  await gateway.api.delete(`/v0/devices/${id}`);
  t.deepEqual(await gateway.api.get(`/v0/ended_flows?device_id=${id}`), [], 'deleted too');
  t.deepEqual(await gateway.endedFlows(), unnamed);
});

test('the flows of a device that was deleted say which device it was', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  gateway.host('10.0.0.5');
  await laptop.udp('10.0.0.5', 53, 'question');
  await gateway.api.delete(`/v0/devices/${laptop.id}`);
  const [flow] = await whenEnded(gateway, 1);
  t.like(flow, {
    source_device_id: laptop.id,
    source_user_id: laptop.userId,
    decided_by: 'default',
    ended_because: 'device_removed',
  });
  t.deepEqual(await gateway.api.get(`/v0/ended_flows?device_id=${laptop.id}`), [flow]);
});

test('a cursor is read as it was written, and no other text is one', (t) => {
  for (const place of [[1], [70_000, 0, 2 ** 40], [0, 0, 0, 0, 0, 0, 0, 9]])
    t.deepEqual(readEndedCursor(writeEndedCursor(place)), place);
  const unasked = readEndedCursor(writeEndedCursor([Number.MAX_SAFE_INTEGER, 3]))!;
  t.true(unasked[0]! > 2 ** 47 && unasked[1] === 3);
  const tooMany = writeEndedCursor(Array.from({ length: 9 }, () => 1));
  for (const text of ['', 'x', 'AAAAAAA', `${writeEndedCursor([1])}=`, tooMany])
    t.is(readEndedCursor(text), null, text);
});
