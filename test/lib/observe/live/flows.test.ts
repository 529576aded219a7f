// Live flows as API, console and command line show them, at a whole gateway in memory.

import test from 'ava';
import type { ShownFlow } from '../../../../lib/observe/live/fields.ts';
import { readFlowCursor, writeFlowCursor } from '../../../../lib/observe/live/flows.ts';
import { createGateway } from '../../../../lib/testing/index.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

test('a flow has both ends, the rule that decided, and what it carried', async (t) => {
  await using gateway = await createGateway({ settings: { DEFAULT_ACTION: 'drop' } });
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const phone = await gateway.addDevice({ user: 'bob@example.com' });
  const host = gateway.host('10.0.0.5');
  const rule = { action: 'accept', destination: '10.0.0.0/8', user_id: laptop.userId };
  const { id } = await gateway.api.post('/v0/rules', { rule });
  t.deepEqual(await gateway.flows(), []);
  await laptop.udp('10.0.0.5', 53, 'question');
  await host.udp(phone.ipv4, 7, 'hello');
  const flows = await gateway.flows();
  const bySource = new Map(flows.map((flow) => [flow.source, flow]));
  t.is(flows.length, 2);
  const asked = bySource.get(laptop.ipv4)!;
  t.like(asked, {
    source_device_id: laptop.id,
    destination: '10.0.0.5',
    port: 53,
    destination_device_id: null,
    protocol: 'udp',
    answered: true,
    decided_by: 'rule',
    rule_id: String(id),
    sent_packets: 1,
    sent_bytes: 28 + 8,
    reply_packets: 1,
  });
  for (const time of [asked.opened_at, asked.last_seen_at]) t.regex(time, TIME);
  t.like(bySource.get('10.0.0.5'), {
    source_device_id: null,
    destination: phone.ipv4,
    destination_device_id: phone.id,
    decided_by: 'nothing',
    rule_id: null,
  });
  t.deepEqual(await laptop.flows(), [asked]);
  const ask = (query: string): Promise<ShownFlow[]> => gateway.api.get(`/v0/flows?${query}`);
  t.deepEqual(await ask(`user_id=${laptop.userId}`), [asked]);
  t.deepEqual(await ask(`rule_id=${String(id)}`), [asked]);
  t.deepEqual(await ask('destination=10.0.0.0/16'), [asked]);
  t.deepEqual(await ask(`user_id=${laptop.userId}&destination=10.1.0.0/16`), []);
  await gateway.api.delete(`/v0/rules/${String(id)}`);
  t.deepEqual(await laptop.flows(), [], 'what no rule lets pass any more is no live flow');
});

test('a protocol without a name is its number, and has no ports', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  gateway.host('10.0.0.5');
  await laptop.ping('10.0.0.5');
  t.like((await laptop.flows())[0], { protocol: 'icmp', source_port: null, port: null });
});

test('a cursor is read as it was written, and no other text is one', (t) => {
  for (const place of [
    { worker: 0, flow: 1 },
    { worker: 7, flow: 262_144 },
  ])
    t.deepEqual(readFlowCursor(writeFlowCursor(place)), place);
  for (const text of [
    '',
    'x',
    'AAAAAAA',
    'AAAAAAAA',
    `${writeFlowCursor({ worker: 1, flow: 2 })}=`,
  ])
    t.is(readFlowCursor(text), null, text);
});
