// Where flows are reported: lines of the log with all that is known, and datagrams to a collector,
// which get there, and cost nothing but a count where nobody listens.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import {
  IpfixTarget,
  LogTarget,
  type NamedInLines,
} from '../../../../lib/observe/flow-log/targets.ts';
import { IpfixDecoder, type ReadMessage } from '../../../support/observe/decode-ipfix.ts';
import { loggedFlow } from '../../../support/observe/logged-flows.ts';
import { until } from '../../../support/gateway/postern.ts';

class Lines {
  readonly lines: [level: string, fields: object, message: string][] = [];
  readonly #add =
    (level: string) =>
    (fields: object, message: string): void => {
      this.lines.push([level, fields, message]);
    };
  readonly debug = this.#add('debug');
  readonly info = this.#add('info');
  readonly warn = this.#add('warn');
  readonly error = this.#add('error');
}

const named: NamedInLines = {
  gatewayId: 'gateway-1',
  deviceIdOf: (key) => (key === 'a key' ? 'device-1' : null),
  ownerIdOf: (key) => (key === 'a key' ? 'user-1' : null),
};

test('a line says all of a flow, by ids of devices and users', (t) => {
  const log = new Lines();
  const target = new LogTarget(log, named);
  target.take(loggedFlow());
  const ends = {
    source: '100.64.0.2',
    source_device_id: 'device-1',
    source_user_id: 'user-1',
    destination: '10.0.0.5',
    port: 443,
    destination_device_id: null,
    destination_user_id: null,
    protocol: 'tcp',
    gateway_id: 'gateway-1',
  };
  const opened = {
    ...ends,
    source_port: 50_000,
    decided_by: 'rule',
    rule_id: 'a rule',
    opened_at: '2026-11-25T12:00:00.250000Z',
  };
  t.deepEqual(log.lines[0], [
    'info',
    {
      ...opened,
      answered: true,
      sent_packets: 12,
      sent_bytes: 1_800,
      reply_packets: 20,
      reply_bytes: 24_000,
      last_seen_at: '2026-11-25T12:01:00.000000Z',
      ended_at: '2026-11-25T12:01:10.000000Z',
      ended_because: 'finished',
    },
    'flow ended',
  ]);
  target.take(loggedFlow({ event: 'opened', because: null }));
  t.deepEqual(log.lines[1], ['info', opened, 'flow opened']);
  const refused = { event: 'refused', by: null, because: null, reason: 'rule_drop' } as const;
  target.take(loggedFlow(refused));
  t.deepEqual(log.lines[2], [
    'info',
    {
      ...ends,
      reason: 'rule_drop',
      rule_id: 'a rule',
      packets: 12,
      bytes: 1_800,
      first_at: '2026-11-25T12:00:00.250000Z',
      last_at: '2026-11-25T12:01:00.000000Z',
    },
    'flow refused',
  ]);
  const unreadable = { version: 0, source: new Uint8Array(0), destination: new Uint8Array(0) };
  target.take(loggedFlow({ ...refused, ...unreadable, destinationPort: null }));
  t.like(log.lines[3]![1], { source: null, destination: null, protocol: null, port: null });
});

test('lines beyond the pace are counted and left out', (t) => {
  const log = new Lines();
  let now = 0;
  const target = new LogTarget(log, named, () => now);
  for (let i = 0; i < 2_500; i++) target.take(loggedFlow());
  t.is(log.lines.length, 2_000);
  t.is(target.unsent, 500);
  now = 1_000;
  target.take(loggedFlow());
  t.is(log.lines.length, 2_001);
});

test('what ends while the gateway stops is in the log, however much it is', (t) => {
  const log = new Lines();
  const target = new LogTarget(log, named, () => 0);
  for (let i = 0; i < 2_500; i++) target.take(loggedFlow());
  target.hurry();
  for (let i = 0; i < 8_000; i++) target.take(loggedFlow({ because: 'gateway_stopped' }));
  t.is(log.lines.length, 10_000);
  t.is(target.unsent, 500);
});

async function listen(
  t: ExecutionContext,
  type: 'udp4' | 'udp6',
): Promise<{ socket: Socket; port: number; read: ReadMessage[] }> {
  const socket = createSocket(type);
  socket.bind(0, type === 'udp4' ? '127.0.0.1' : '::1');
  await once(socket, 'listening');
  const decoder = new IpfixDecoder();
  const read: ReadMessage[] = [];
  socket.on('message', (message) => read.push(decoder.read(message)));
  t.teardown(() => socket.close());
  return { socket, port: socket.address().port, read };
}

for (const [host, type] of [
  ['127.0.0.1', 'udp4'],
  ['::1', 'udp6'],
] as const)
  test(`a collector at ${host} gets templates first, then every record`, async (t) => {
    const { port, read } = await listen(t, type);
    const log = new Lines();
    const target = new IpfixTarget({ host, port }, 'a gateway', log);
    t.teardown(() => target.close());
    await until('templates come', () => read.length === 1);
    t.is(read[0]!.templates, 6);
    for (let i = 0; i < 500; i++) target.take(loggedFlow());
    target.flush();
    const records = (): number => read.reduce((sum, message) => sum + message.records.length, 0);
    await until('records come', () => records() === 1_000);
    t.is(new Set(read.map(({ domain }) => domain)).size, 1);
    t.is(target.unsent, 0);
    t.deepEqual(log.lines, []);
  });

test('what is handed over before the end reaches the collector', async (t) => {
  const { port, read } = await listen(t, 'udp4');
  const target = new IpfixTarget({ host: '127.0.0.1', port }, 'a gateway', new Lines());
  await until('templates come', () => read.length === 1);
  target.take(loggedFlow());
  target.flush();
  await target.close();
  await until('the record comes', () => read.length === 2);
  t.is(target.unsent, 0);
});

test('two gateways have two numbers, and one has the same after a start', async (t) => {
  const domains: number[] = [];
  for (const id of ['a', 'b', 'a']) {
    const { port, read } = await listen(t, 'udp4');
    const target = new IpfixTarget({ host: '127.0.0.1', port }, id, new Lines());
    await until('templates come', () => read.length === 1);
    domains.push(read[0]!.domain);
    await target.close();
  }
  t.is(domains[0], domains[2]);
  t.not(domains[0], domains[1]);
});

test('a name that cannot be resolved is said once, and what was to be sent is counted', async (t) => {
  const log = new Lines();
  const target = new IpfixTarget({ host: 'collector.invalid', port: 4_739 }, 'a', log);
  t.teardown(() => target.close());
  await until('it is said', () => log.lines.length === 1, 20_000);
  t.like(log.lines[0]![1], { host: 'collector.invalid', port: 4_739 });
  for (let i = 0; i < 100; i++) target.take(loggedFlow());
  target.flush();
  t.is(target.unsent, 100);
  t.is(log.lines.length, 1);
});

test('where nobody listens, nothing fails', async (t) => {
  const { socket, port } = await listen(t, 'udp4');
  const log = new Lines();
  const target = new IpfixTarget({ host: '127.0.0.1', port }, 'a', log);
  await once(socket, 'message');
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 1_000; i++) target.take(loggedFlow());
    target.flush();
    await new Promise(setImmediate);
  }
  target.take(loggedFlow({ version: 0 }));
  t.true(target.unsent >= 1);
  await target.close();
  target.flush();
  t.deepEqual(log.lines, []);
});
