// The gateway's own answer to a ping.

import test from 'ava';
import { isEchoRequest, turnIntoEchoReply } from '../../../dataplane/wire/icmp.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import {
  address,
  checksum,
  concat,
  echoRequest,
  extension,
  fragmentHeader,
  ip,
  udp,
  viewOf,
} from '../../support/packets.ts';

function parsed(bytes: Uint8Array): InnerPacket {
  const packet = new InnerPacket();
  parseInner(viewOf(bytes), 0, bytes.length, packet);
  return packet;
}

function isRequest(bytes: Uint8Array): boolean {
  return isEchoRequest(viewOf(bytes), 0, parsed(bytes));
}

function icmp(
  source: string,
  type: number,
  extras: Partial<Parameters<typeof ip>[0]> = {},
): Uint8Array {
  const isIpv6 = source.includes(':');
  const payload = new Uint8Array(16);
  payload[0] = type;
  const destination = isIpv6 ? 'fd00::1' : '10.0.0.1';
  return ip({ source, destination, protocol: isIpv6 ? 58 : 1, payload, ...extras });
}

const requests: readonly [title: string, bytes: Uint8Array, wanted: boolean][] = [
  ['an echo request', echoRequest('10.0.0.2', '10.0.0.1'), true],
  ['an echo request over IPv6', echoRequest('fd00::2', 'fd00::1'), true],
  ['one behind IPv4 options', icmp('10.0.0.2', 8, { ipOptions: new Uint8Array(4).fill(1) }), true],
  ['one behind a hop-by-hop header', icmp('fd00::2', 128, { extensions: [extension(0)] }), true],
  ['an echo reply', icmp('10.0.0.2', 0), false],
  ['an echo reply over IPv6', icmp('fd00::2', 129), false],
  ['type 8 over IPv6', icmp('fd00::2', 8), false],
  ['type 128 over IPv4', icmp('10.0.0.2', 128), false],
  ['ICMPv6 inside IPv4', icmp('10.0.0.2', 128, { protocol: 58 }), false],
  ['ICMP inside IPv6', icmp('fd00::2', 8, { protocol: 1 }), false],
  ['a UDP datagram', udp({ source: '10.0.0.2', destination: '10.0.0.1' }), false],
  ['a first fragment', icmp('10.0.0.2', 8, { fragment: 0x2000 }), false],
  ['a later fragment', icmp('10.0.0.2', 8, { fragment: 2 }), false],
  [
    'a first fragment over IPv6',
    icmp('fd00::2', 128, { extensions: [fragmentHeader(0, true)] }),
    false,
  ],
  [
    'one too short for its header',
    icmp('10.0.0.2', 8, { payload: new Uint8Array([8, 0, 0, 0, 0, 0, 0]) }),
    false,
  ],
  [
    'one of eight bytes',
    icmp('10.0.0.2', 8, { payload: new Uint8Array([8, 0, 0, 0, 0, 0, 0, 0]) }),
    true,
  ],
];

for (const [title, bytes, wanted] of requests) {
  test(`${title} is ${wanted ? '' : 'not '}answered`, (t) => {
    t.is(isRequest(bytes), wanted);
  });
}

test('the reply over IPv4 has the addresses swapped and both checksums right', (t) => {
  const request = echoRequest('10.0.0.2', '10.0.0.1', 9);
  const reply = request.slice();
  turnIntoEchoReply(viewOf(reply), 0, parsed(request));
  t.deepEqual(reply.slice(12, 16), address('10.0.0.1'));
  t.deepEqual(reply.slice(16, 20), address('10.0.0.2'));
  t.is(checksum(reply.subarray(0, 20)), 0);
  t.is(checksum(reply.subarray(20)), 0);
  t.is(reply[20], 0);
});

test('the reply over IPv6 has the addresses swapped and the checksum right', (t) => {
  const request = echoRequest('fd00::2', 'fd00::1', 9);
  const reply = request.slice();
  turnIntoEchoReply(viewOf(reply), 0, parsed(request));
  t.deepEqual(reply.slice(8, 24), address('fd00::1'));
  t.deepEqual(reply.slice(24, 40), address('fd00::2'));
  const pseudo = concat(reply.subarray(8, 40), new Uint8Array([0, 0, 0, reply.length - 40]));
  t.is(checksum(pseudo, new Uint8Array([0, 0, 0, 58]), reply.subarray(40)), 0);
  t.is(reply[40], 129);
});

for (const [source, destination] of [
  ['10.0.0.2', '10.0.0.1'],
  ['fd00::2', 'fd00::1'],
] as const) {
  test(`the reply to ${source} keeps identifier, sequence and data`, (t) => {
    const request = echoRequest(source, destination, 1_234);
    const reply = request.slice();
    const packet = parsed(request);
    turnIntoEchoReply(viewOf(reply), 0, packet);
    t.deepEqual(reply.slice(packet.upperOffset + 4), request.slice(packet.upperOffset + 4));
    t.is(reply.length, request.length);
  });

  test(`the reply to ${source} begins with a hop limit of its own`, (t) => {
    const reply = echoRequest(source, destination);
    const packet = parsed(reply);
    const hopLimitAt = packet.version === 4 ? 8 : 7;
    reply[hopLimitAt] = 1;
    if (packet.version === 4) reply.set([0, 0], 10);
    if (packet.version === 4) viewOf(reply).setUint16(10, checksum(reply.subarray(0, 20)));
    turnIntoEchoReply(viewOf(reply), 0, packet);
    t.is(reply[hopLimitAt], 64);
    if (packet.version === 4) t.is(checksum(reply.subarray(0, 20)), 0);
  });
}

test('every sequence number gives a reply whose checksum is right', (t) => {
  for (let sequence = 0; sequence < 65_536; sequence += 97) {
    const reply = echoRequest('10.0.0.2', '10.0.0.1', sequence);
    turnIntoEchoReply(viewOf(reply), 0, parsed(reply));
    if (checksum(reply.subarray(20)) !== 0) t.fail(`sequence ${sequence}`);
  }
  t.pass();
});

test('a request in the middle of an arena is answered there, and nothing around it moves', (t) => {
  const request = echoRequest('10.0.0.2', '10.0.0.1');
  const arena = new Uint8Array(300).fill(0xaa);
  arena.set(request, 101);
  const packet = new InnerPacket();
  parseInner(viewOf(arena), 101, request.length, packet);
  t.true(isEchoRequest(viewOf(arena), 101, packet));
  turnIntoEchoReply(viewOf(arena), 101, packet);
  t.true(arena.subarray(0, 101).every((byte) => byte === 0xaa));
  t.true(arena.subarray(101 + request.length).every((byte) => byte === 0xaa));
  t.is(arena[121], 0);
});
