// Strangers: who is remembered, who has to go, and that a flood of ever new keys and sources takes
// no more memory than the first few.

import test from 'ava';
import {
  MAX_OTHER_GATEWAY_SENDERS,
  MAX_UNKNOWN_KEYS,
  MAX_UNKNOWN_KEYS_PER_SOURCE,
} from '../../../dataplane/constants.ts';
import { type ReasonName, reasonNames } from '../../../dataplane/reasons.ts';
import { createEndpointTable, writeEndpoint } from '../../../dataplane/wire/address.ts';
import { UnknownSenderLog } from '../../../dataplane/wireguard/unknown-senders.ts';
import { address } from '../../support/dataplane/packets.ts';

interface Scene {
  log: UnknownSenderLog;
  at: (text: string, port?: number) => number;
  drops: Partial<Record<ReasonName, number>>;
}

function open(): Scene {
  const endpoints = createEndpointTable(4);
  const drops: Scene['drops'] = {};
  const log = new UnknownSenderLog(endpoints, (reason) => {
    const name = reasonNames[reason]!;
    drops[name] = (drops[name] ?? 0) + 1;
  });
  const at = (text: string, port = 40_000): number => {
    writeEndpoint(endpoints, 2, address(text), port);
    return 2;
  };
  return { log, at, drops };
}

function key(i: number): Uint8Array {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(28, i);
  return bytes;
}

function text(i: number): string {
  return Buffer.from(key(i)).toString('base64');
}

/** The ith address of 10.0.0.0/8. */
function source(i: number): string {
  return `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
}

test('a key is one line, with its count, its times and where it came from last', (t) => {
  const { log, at, drops } = open();
  t.deepEqual(log.read(), { keys: [], otherGateway: [] });
  log.unknownKey(key(1), at('192.0.2.1'), 10);
  log.unknownKey(key(2), at('2001:db8::1', 7), 20);
  log.unknownKey(key(1), at('192.0.2.9', 8), 30);
  t.deepEqual(log.read().keys, [
    {
      publicKey: text(1),
      endpoint: { address: '192.0.2.9', port: 8 },
      count: 2,
      firstAtMs: 10,
      lastAtMs: 30,
    },
    {
      publicKey: text(2),
      endpoint: { address: '2001:db8::1', port: 7 },
      count: 1,
      firstAtMs: 20,
      lastAtMs: 20,
    },
  ]);
  t.deepEqual(drops, {});
});

test('one source has only its share of the keys, and its own oldest goes', (t) => {
  const { log, at, drops } = open();
  log.unknownKey(key(0), at('192.0.2.1'), 1);
  for (let i = 1; i <= 10_000; i++) log.unknownKey(key(i), at('203.0.113.66', 1 + (i % 9)), i);
  const { keys } = log.read();
  t.is(keys.length, 1 + MAX_UNKNOWN_KEYS_PER_SOURCE);
  t.is(keys[0]!.publicKey, text(10_000));
  t.is(keys.at(-1)!.publicKey, text(0));
  t.deepEqual(drops, { unknown_sender_forgotten: 10_000 - MAX_UNKNOWN_KEYS_PER_SOURCE });
});

test('one /64 is one source', (t) => {
  const { log, at } = open();
  for (let i = 0; i < 100; i++) log.unknownKey(key(i), at(`2001:db8::${i + 1}`), i);
  t.is(log.read().keys.length, MAX_UNKNOWN_KEYS_PER_SOURCE);
});

test('from ever new sources the oldest key goes; one that comes again is there again', (t) => {
  const { log, at, drops } = open();
  for (let i = 0; i < 1_000; i++) log.unknownKey(key(i), at(source(i)), i);
  t.is(log.read().keys.length, MAX_UNKNOWN_KEYS);
  t.is(log.read().keys.at(-1)!.publicKey, text(1_000 - MAX_UNKNOWN_KEYS));
  t.deepEqual(drops, { unknown_sender_forgotten: 1_000 - MAX_UNKNOWN_KEYS });
  log.unknownKey(key(0), at(source(0)), 2_000);
  t.like(log.read().keys[0], { publicKey: text(0), count: 1, firstAtMs: 2_000 });
});

test('who takes this gateway for another one is one line for each source', (t) => {
  const { log, at, drops } = open();
  log.otherGateway(at('192.0.2.1', 5), 1);
  log.otherGateway(at('192.0.2.1', 6), 2);
  log.otherGateway(at('192.0.2.2'), 3);
  t.deepEqual(
    log.read().otherGateway.map((one) => [one.endpoint.address, one.endpoint.port, one.count]),
    [
      ['192.0.2.2', 40_000, 1],
      ['192.0.2.1', 6, 2],
    ],
  );
  t.deepEqual(drops, { mac1_invalid: 3 });
  for (let i = 0; i < 1_000; i++) log.otherGateway(at(source(i)), 10 + i);
  t.is(log.read().otherGateway.length, MAX_OTHER_GATEWAY_SENDERS);
  t.deepEqual(drops, {
    mac1_invalid: 1_003,
    unknown_sender_forgotten: 1_002 - MAX_OTHER_GATEWAY_SENDERS,
  });
});
