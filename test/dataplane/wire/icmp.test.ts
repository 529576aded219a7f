// The own answers of the gateway: to a ping, and to a packet that is too big.

import test from 'ava';
import {
  ECHO_ANSWER,
  ECHO_NONE,
  ECHO_QUESTION,
  echoPart,
  isEchoRequest,
  isIcmpError,
  mayBeAnsweredByError,
  mayNotFragment,
  turnIntoEchoReply,
  turnIntoTooBig,
} from '../../../dataplane/wire/icmp.ts';
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
} from '../../support/dataplane/packets.ts';

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

test('a request in the middle of an arena is answered there, and the bytes around it stay', (t) => {
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

// ---- the two sides of a flow ------------------------------------------------------------------

test('an echo is a request or a reply, by the numbers of its family', (t) => {
  const part = (bytes: Uint8Array): number => echoPart(viewOf(bytes), 0, parsed(bytes));
  t.is(part(icmp('10.0.0.2', 8)), ECHO_QUESTION);
  t.is(part(icmp('10.0.0.2', 0)), ECHO_ANSWER);
  t.is(part(icmp('fd00::2', 128)), ECHO_QUESTION);
  t.is(part(icmp('fd00::2', 129)), ECHO_ANSWER);
  for (const type of [3, 13, 128, 129]) t.is(part(icmp('10.0.0.2', type)), ECHO_NONE);
  for (const type of [0, 1, 8, 135]) t.is(part(icmp('fd00::2', type)), ECHO_NONE);
  t.is(part(icmp('10.0.0.2', 8, { payload: Uint8Array.from([8, 0, 0, 0, 0, 0, 0]) })), ECHO_NONE);
});

test('errors are the messages that quote a packet', (t) => {
  const errors = (source: string): number[] =>
    Array.from({ length: 256 }, (_, type) => type).filter((type) => {
      const bytes = icmp(source, type);
      return isIcmpError(viewOf(bytes), 0, parsed(bytes));
    });
  t.deepEqual(errors('10.0.0.2'), [3, 4, 11, 12]);
  t.deepEqual(
    errors('fd00::2'),
    Array.from({ length: 128 }, (_, type) => type),
  );
  const udpPacket = udp({ source: '10.0.0.2', destination: '10.0.0.1', sourcePort: 0x0303 });
  t.false(isIcmpError(viewOf(udpPacket), 0, parsed(udpPacket)));
});

// ---- too big ---------------------------------------------------------------------------------

/** Turns a packet in a larger arena into the answer that it is too big. */
function tooBig(bytes: Uint8Array, from: string, mtu: number): Uint8Array {
  const arena = concat(new Uint8Array(64).fill(9), bytes, new Uint8Array(64).fill(9));
  const packet = new InnerPacket();
  parseInner(viewOf(arena), 64, bytes.length, packet);
  const length = turnIntoTooBig(arena, viewOf(arena), 64, packet, address(from), mtu);
  const around = concat(arena.subarray(0, 64), arena.subarray(64 + bytes.length));
  if (around.some((byte) => byte !== 9)) throw new Error('wrote beyond the packet');
  return arena.slice(64, 64 + length);
}

test('IPv4: the answer says that fragmentation is needed, and quotes what fits', (t) => {
  const big = udp({ source: '10.0.0.2', destination: '10.0.0.3', data: new Uint8Array(1_473) });
  const answer = tooBig(big, '10.0.0.1', 1_420);
  t.is(answer.length, 576);
  t.is(viewOf(answer).getUint16(2), 576);
  t.deepEqual(answer.slice(12, 20), concat(address('10.0.0.1'), address('10.0.0.2')));
  t.deepEqual([...answer.subarray(20, 22)], [3, 4]);
  t.is(viewOf(answer).getUint16(26), 1_420);
  t.deepEqual(answer.slice(28), big.slice(0, 548));
  t.is(checksum(answer.subarray(0, 20)), 0);
  t.is(checksum(answer.subarray(20)), 0);
});

// A device may have an MTU that IPv6 does not allow; the next packet is right behind this one.
for (const mtu of [576, 1_000, 1_252, 1_279])
  for (const more of [1, 47, 48, 49])
    test(`a packet of ${more} bytes more than ${mtu} is answered in its own place`, (t) => {
      const data = new Uint8Array(mtu + more - 48).fill(7);
      const big = udp({ source: 'fd00::2', destination: 'fd00::3', data });
      const answer = tooBig(big, 'fd00::1', mtu);
      t.is(answer.length, Math.min(big.length, 1_280));
      t.is(viewOf(answer).getUint16(4), answer.length - 40);
      t.is(viewOf(answer).getUint32(44), mtu);
      t.deepEqual(answer.slice(48), big.slice(0, answer.length - 48));
    });

test('IPv6: the answer says that the packet is too big, and quotes what fits', (t) => {
  const big = udp({ source: 'fd00::2', destination: 'fd00::3', data: new Uint8Array(1_453) });
  const answer = tooBig(big, 'fd00::1', 1_280);
  t.is(answer.length, 1_280);
  t.is(viewOf(answer).getUint16(4), 1_240);
  t.deepEqual(answer.slice(8, 40), concat(address('fd00::1'), address('fd00::2')));
  t.deepEqual([answer[6], answer[40], answer[41]], [58, 2, 0]);
  t.is(viewOf(answer).getUint32(44), 1_280);
  t.deepEqual(answer.slice(48), big.slice(0, 1_232));
  const pseudo = concat(
    answer.slice(8, 40),
    Uint8Array.from([0, 0, 1_240 >> 8, 1_240 & 255, 0, 0, 0, 58]),
  );
  t.is(checksum(pseudo, answer.subarray(40)), 0);
});

test('a packet that may be fragmented need not be refused', (t) => {
  const may = (bytes: Uint8Array): boolean => !mayNotFragment(viewOf(bytes), 0, parsed(bytes));
  const four = { source: '10.0.0.2', destination: '10.0.0.3' };
  t.true(may(udp({ ...four, fragment: 0 })));
  t.false(may(udp({ ...four, fragment: 0x4000 })));
  t.false(may(udp({ source: 'fd00::2', destination: 'fd00::3' })));
});

test('an error and a later fragment are never answered by an error', (t) => {
  const may = (bytes: Uint8Array): boolean => mayBeAnsweredByError(viewOf(bytes), 0, parsed(bytes));
  t.true(may(udp({ source: '10.0.0.2', destination: '10.0.0.3' })));
  t.true(may(icmp('10.0.0.2', 8)));
  t.false(may(icmp('10.0.0.2', 3)));
  t.false(may(icmp('fd00::2', 2)));
  t.false(may(icmp('10.0.0.2', 8, { fragment: 5 })));
});
