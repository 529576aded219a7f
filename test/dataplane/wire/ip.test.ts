// Inner packets: what is read of them, what is refused, and what flows are made of.

import test from 'ava';
import fc from 'fast-check';
import { type ReasonName } from '../../../dataplane/reasons.ts';
import {
  FIRST_FRAGMENT,
  InnerPacket,
  isConnectionRequest,
  LATER_FRAGMENT,
  parseInner,
  parseQuoted,
  takeHop,
  WHOLE,
} from '../../../dataplane/wire/ip.ts';
import {
  checksum,
  concat,
  echoRequest,
  type Extension,
  extension,
  fragmentHeader,
  ip,
  tcp,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import { parse, v4, v6 } from '../../support/dataplane/inner-packets.ts';

/** A copy with some bytes overwritten. */
function changed(bytes: Uint8Array, at: number, ...values: number[]): Uint8Array {
  const copy = bytes.slice();
  copy.set(values, at);
  return copy;
}

// ---- what is read --------------------------------------------------------------------------

test('an IPv4 packet shows its addresses, protocol, hop limit and ports', (t) => {
  const { packet, reason } = parse(udp({ ...v4, sourcePort: 40_000, destinationPort: 53 }));
  t.is(reason, 'none');
  t.like(packet, {
    version: 4,
    length: 28,
    hopLimit: 64,
    protocol: 17,
    upperOffset: 20,
    fragment: WHOLE,
    source0: 0x0a000002,
    source1: 0,
    source2: 0,
    source3: 0,
    destination0: 0xc0000201 | 0,
    destination1: 0,
    destination2: 0,
    destination3: 0,
    sourcePort: 40_000,
    destinationPort: 53,
  });
});

test('an IPv6 packet shows its addresses, protocol, hop limit and ports', (t) => {
  const { packet, reason } = parse(tcp({ ...v6, sourcePort: 65_535, destinationPort: 443 }));
  t.is(reason, 'none');
  t.like(packet, {
    version: 6,
    length: 60,
    hopLimit: 64,
    protocol: 6,
    upperOffset: 40,
    fragment: WHOLE,
    source0: 0xfd000000 | 0,
    source3: 2,
    destination0: 0x20010db8,
    destination1: 0,
    destination2: 0,
    destination3: 1,
    sourcePort: 65_535,
    destinationPort: 443,
  });
});

test('a packet that has no ports shows none, whatever the one before it had', (t) => {
  const packet = new InnerPacket();
  const first = udp({ ...v6 });
  const second = echoRequest('10.0.0.2', '10.0.0.1');
  parseInner(viewOf(first), 0, first.length, packet);
  parseInner(viewOf(second), 0, second.length, packet);
  t.like(packet, { sourcePort: -1, destinationPort: -1, source3: 0, destination3: 0 });
});

test('padding behind a packet is not part of it', (t) => {
  const bytes = udp({ ...v4, data: 'abc' });
  const { packet } = parse(concat(bytes, new Uint8Array(9)));
  t.is(packet.length, bytes.length);
});

test('IPv4 options are stepped over', (t) => {
  const { packet, reason } = parse(udp({ ...v4, ipOptions: new Uint8Array(40).fill(1) }));
  t.is(reason, 'none');
  t.like(packet, { upperOffset: 60, destinationPort: 5000 });
});

// ---- what is refused -----------------------------------------------------------------------

const ipv4Header = ip({ ...v4, protocol: 50, payload: new Uint8Array(0) });
const ipv6Header = ip({ ...v6, protocol: 59, payload: new Uint8Array(0) });

const whole: readonly [title: string, bytes: Uint8Array, wanted: ReasonName][] = [
  ['nothing', new Uint8Array(0), 'inner_malformed'],
  ['nineteen bytes of IPv4', ipv4Header.slice(0, 19), 'inner_malformed'],
  ['an IPv4 header alone', ipv4Header, 'none'],
  ['thirty-nine bytes of IPv6', ipv6Header.slice(0, 39), 'inner_malformed'],
  ['an IPv6 header alone', ipv6Header, 'none'],
  ['version 0', changed(ipv4Header, 0, 0x05), 'inner_malformed'],
  ['version 5', changed(ipv4Header, 0, 0x55), 'inner_malformed'],
  ['version 7', changed(ipv6Header, 0, 0x70), 'inner_malformed'],
  ['an IPv4 header of 16 bytes', changed(ipv4Header, 0, 0x44), 'inner_malformed'],
  ['an IPv4 header of 0 bytes', changed(ipv4Header, 0, 0x40), 'inner_malformed'],
  ['IPv4 options past its own length', changed(ipv4Header, 0, 0x46), 'inner_malformed'],
  ['an IPv4 length beyond what arrived', changed(ipv4Header, 2, 0, 21), 'inner_malformed'],
  ['an IPv4 length shorter than its header', changed(ipv4Header, 2, 0, 19), 'inner_malformed'],
  ['an IPv4 length of zero', changed(ipv4Header, 2, 0, 0), 'inner_malformed'],
  ['an IPv6 length beyond what arrived', changed(ipv6Header, 4, 0, 1), 'inner_malformed'],
  [
    'a UDP header of seven bytes',
    ip({ ...v4, protocol: 17, payload: new Uint8Array(7) }),
    'inner_malformed',
  ],
  [
    'a TCP header of nineteen bytes',
    ip({ ...v4, protocol: 6, payload: new Uint8Array(19) }),
    'inner_malformed',
  ],
  [
    'a TCP header of nineteen bytes over IPv6',
    ip({ ...v6, protocol: 6, payload: new Uint8Array(19) }),
    'inner_malformed',
  ],
  ['UDP without a checksum over IPv4', udp({ ...v4, checksum: 0 }), 'none'],
  ['UDP without a checksum over IPv6', udp({ ...v6, checksum: 0 }), 'none'],
  ['an ICMP packet of one byte', ip({ ...v4, protocol: 1, payload: new Uint8Array(1) }), 'none'],
];

for (const [title, bytes, wanted] of whole) {
  test(`${title}: ${wanted}`, (t) => {
    t.is(parse(bytes).reason, wanted);
  });
}

// ---- IPv6 extension headers (RFC 8200, section 4) --------------------------------------------

const chains: readonly [
  title: string,
  extensions: readonly Extension[],
  wanted: ReasonName,
  offset?: number,
][] = [
  ['hop-by-hop options', [extension(0)], 'none', 48],
  ['a routing header of 24 bytes', [extension(43, 2)], 'none', 64],
  ['destination options', [extension(60)], 'none', 48],
  ['a mobility header', [extension(135)], 'none', 48],
  ['an authentication header, which counts in words', [extension(51, 1)], 'none', 52],
  ['a chain of four', [extension(0), extension(43), extension(60), extension(135)], 'none', 72],
  ['eight headers', Array.from({ length: 8 }, () => extension(60)), 'none', 104],
  ['nine headers', Array.from({ length: 9 }, () => extension(60)), 'inner_headers_unparsable'],
  [
    'a header longer than the packet',
    [{ type: 60, body: new Uint8Array([9, 0, 0, 0, 0, 0, 0]) }],
    'inner_headers_unparsable',
  ],
  ['an atomic fragment (RFC 6946)', [fragmentHeader(0, false)], 'none', 48],
];

for (const [title, extensions, wanted, offset] of chains) {
  test(`${title} before UDP: ${wanted}`, (t) => {
    // The authentication header of type 51 counts in words of four bytes.
    const list = extensions.map((one) =>
      one.type === 51 ? { type: 51, body: new Uint8Array(11).fill(1, 0, 1) } : one,
    );
    const { packet, reason } = parse(udp({ ...v6, extensions: list }));
    t.is(reason, wanted);
    if (offset === undefined) return;
    t.like(packet, { upperOffset: offset, protocol: 17, fragment: WHOLE, destinationPort: 5000 });
  });
}

test('a chain that ends inside a header cannot be parsed', (t) => {
  for (let length = 40; length < 48; length++) {
    const bytes = ip({ ...v6, protocol: 0, payload: new Uint8Array(length - 40) });
    t.is(parse(bytes).reason, 'inner_headers_unparsable', `${length}`);
  }
});

test('an encrypted payload (ESP) is an upper layer without ports', (t) => {
  const { packet, reason } = parse(ip({ ...v6, protocol: 50, payload: new Uint8Array(30) }));
  t.is(reason, 'none');
  t.like(packet, { protocol: 50, destinationPort: -1 });
});

// ---- fragments -------------------------------------------------------------------------------

const fragments: readonly [
  title: string,
  bytes: Uint8Array,
  wanted: ReasonName,
  fields: Partial<InnerPacket> | null,
][] = [
  [
    'the first IPv4 fragment of UDP',
    udp({ ...v4, data: 'abcdefgh', fragment: 0x2000 }),
    'none',
    { fragment: FIRST_FRAGMENT, fragmentOffset: 0, destinationPort: 5000 },
  ],
  [
    'a later IPv4 fragment of UDP',
    udp({ ...v4, data: 'abcdefgh', fragment: 0x2010 }),
    'none',
    { fragment: LATER_FRAGMENT, fragmentOffset: 16, destinationPort: -1 },
  ],
  [
    'the last IPv4 fragment',
    udp({ ...v4, fragment: 0x0010 }),
    'none',
    { fragment: LATER_FRAGMENT, fragmentOffset: 16 },
  ],
  [
    'one that may not be fragmented is whole',
    udp({ ...v4, fragment: 0x4000 }),
    'none',
    { fragment: WHOLE },
  ],
  [
    'one with the reserved flag is whole',
    udp({ ...v4, fragment: 0x8000 }),
    'none',
    { fragment: WHOLE },
  ],
  [
    'a first fragment too short for UDP ports',
    ip({ ...v4, protocol: 17, payload: new Uint8Array(7), fragment: 0x2000 }),
    'inner_fragment_unsafe',
    null,
  ],
  [
    'a first fragment too short for a TCP header',
    ip({ ...v4, protocol: 6, payload: new Uint8Array(16), fragment: 0x2000 }),
    'inner_fragment_unsafe',
    null,
  ],
  [
    'a TCP fragment at offset 8, which could rewrite the flags',
    ip({ ...v4, protocol: 6, payload: new Uint8Array(40), fragment: 0x0001 }),
    'inner_fragment_unsafe',
    null,
  ],
  [
    'a UDP fragment at offset 8',
    ip({ ...v4, protocol: 17, payload: new Uint8Array(40), fragment: 0x0001 }),
    'none',
    { fragment: LATER_FRAGMENT, fragmentOffset: 1 },
  ],
  [
    'a later fragment too short for any header',
    ip({ ...v4, protocol: 6, payload: new Uint8Array(1), fragment: 0x0004 }),
    'none',
    { fragment: LATER_FRAGMENT },
  ],
  [
    'a first ICMP fragment of one byte',
    ip({ ...v4, protocol: 1, payload: new Uint8Array(1), fragment: 0x2000 }),
    'none',
    { fragment: FIRST_FRAGMENT },
  ],
  [
    'the first IPv6 fragment of UDP',
    udp({ ...v6, extensions: [fragmentHeader(0, true)] }),
    'none',
    { fragment: FIRST_FRAGMENT, destinationPort: 5000, upperOffset: 48 },
  ],
  [
    'a later IPv6 fragment of UDP',
    udp({ ...v6, extensions: [fragmentHeader(3, true)] }),
    'none',
    { fragment: LATER_FRAGMENT, fragmentOffset: 3, protocol: 17, destinationPort: -1 },
  ],
  [
    'a later IPv6 fragment that seems to go on with extension headers',
    ip({ ...v6, protocol: 60, payload: new Uint8Array(0), extensions: [fragmentHeader(3, false)] }),
    'none',
    { fragment: LATER_FRAGMENT, protocol: 60, destinationPort: -1 },
  ],
  [
    'an IPv6 TCP fragment at offset 8',
    tcp({ ...v6, extensions: [fragmentHeader(1, true)] }),
    'inner_fragment_unsafe',
    null,
  ],
  [
    'a first IPv6 fragment too short for UDP ports',
    ip({ ...v6, protocol: 17, payload: new Uint8Array(4), extensions: [fragmentHeader(0, true)] }),
    'inner_fragment_unsafe',
    null,
  ],
  [
    'a first IPv6 fragment whose options hide the ports in the next one',
    ip({
      ...v6,
      protocol: 60,
      payload: new Uint8Array([17, 9]),
      extensions: [fragmentHeader(0, true)],
    }),
    'inner_headers_unparsable',
    null,
  ],
];

for (const [title, bytes, wanted, fields] of fragments) {
  test(`${title}: ${wanted}`, (t) => {
    const { packet, reason } = parse(bytes);
    t.is(reason, wanted);
    if (fields !== null) t.like(packet, fields);
  });
}

// ---- taking a hop ----------------------------------------------------------------------------

test('taking a hop of IPv4 lowers the hop limit and keeps the checksum right', (t) => {
  for (let identification = 0; identification < 65_536; identification += 61) {
    const bytes = udp({ ...v4, identification, hopLimit: 1 + (identification % 255) });
    const { packet } = parse(bytes);
    const taken = takeHop(viewOf(bytes), 0, packet);
    if (taken !== packet.hopLimit > 1) t.fail(`${identification}: taken`);
    if (taken && bytes[8] !== packet.hopLimit - 1) t.fail(`${identification}: hop limit`);
    if (checksum(bytes.subarray(0, 20)) !== 0) t.fail(`${identification}: checksum`);
  }
  t.pass();
});

test('the checksum stays right for every value that it can have', (t) => {
  const bytes = ipv4Header.slice();
  const view = viewOf(bytes);
  for (let identification = 0; identification < 65_536; identification++) {
    bytes[8] = 64;
    view.setUint16(4, identification);
    view.setUint16(10, 0);
    view.setUint16(10, checksum(bytes));
    takeHop(view, 0, parse(bytes).packet);
    if (checksum(bytes) !== 0) t.fail(`${identification}`);
  }
  t.pass();
});

test('taking a hop of IPv6 lowers the hop limit and nothing else', (t) => {
  const bytes = udp({ ...v6, hopLimit: 2 });
  const wanted = changed(bytes, 7, 1);
  t.true(takeHop(viewOf(bytes), 0, parse(bytes).packet));
  t.deepEqual(bytes, wanted);
});

for (const hopLimit of [0, 1]) {
  for (const addresses of [v4, v6]) {
    test(`a hop limit of ${hopLimit} from ${addresses.source} has no hop to give`, (t) => {
      const bytes = udp({ ...addresses, hopLimit });
      const before = bytes.slice();
      t.false(takeHop(viewOf(bytes), 0, parse(bytes).packet));
      t.deepEqual(bytes, before);
    });
  }
}

// ---- what flows are made of ------------------------------------------------------------------

test('a fragment tells which datagram it is of, and where that begins', (t) => {
  const four = parse(udp({ ...v4, identification: 0xfedc, fragment: 0x2000, data: 'x' })).packet;
  t.deepEqual([four.identification, four.fragmentedAt], [0xfedc, 20]);
  const six = parse(
    udp({ ...v6, extensions: [extension(0), fragmentHeader(0, true, 0x7654_3210), extension(60)] }),
  ).packet;
  t.deepEqual([six.identification, six.fragmentedAt, six.upperOffset], [0x7654_3210, 56, 64]);
});

test('flags are those of TCP, and of nothing else', (t) => {
  t.is(parse(tcp({ ...v4, flags: 0xc2 })).packet.flags, 0xc2);
  t.is(parse(udp(v4)).packet.flags, 0);
  t.is(
    parse(ip({ ...v4, protocol: 6, payload: new Uint8Array(40).fill(2), fragment: 4 })).packet
      .flags,
    0,
  );
});

test('a connection is requested by SYN without ACK', (t) => {
  const requests = (flags: number): boolean =>
    isConnectionRequest(parse(tcp({ ...v4, flags })).packet);
  t.deepEqual([0x02, 0xc2, 0x12, 0x10, 0x04].map(requests), [true, true, false, false, false]);
  t.false(isConnectionRequest(parse(udp(v4)).packet));
});

/** What is read of the first bytes of a packet, as an error quotes them. */
function quote(bytes: Uint8Array, available: number): InnerPacket | null {
  const packet = new InnerPacket();
  const quoted = bytes.slice(0, available);
  return parseQuoted(viewOf(quoted), 0, quoted.length, packet) ? packet : null;
}

test('a quoted packet shows addresses and ports in its first eight bytes', (t) => {
  const four = quote(tcp({ ...v4, sourcePort: 7, destinationPort: 9, data: 'much more' }), 28)!;
  t.deepEqual([four.sourcePort, four.destinationPort, four.protocol], [7, 9, 6]);
  t.is(four.destination0, 0xc0000201 | 0);
  const six = quote(udp({ ...v6, sourcePort: 7, destinationPort: 9, data: 'much more' }), 48)!;
  t.deepEqual([six.sourcePort, six.destinationPort, six.protocol], [7, 9, 17]);
  t.deepEqual([six.source0 >>> 0, six.source3], [0xfd000000, 2]);
  t.truthy(quote(udp({ ...v6, extensions: [fragmentHeader(0, true)] }), 56));
});

test('a quote that shows too little is none', (t) => {
  t.is(quote(tcp(v4), 27), null);
  t.is(quote(tcp({ ...v4, ipOptions: new Uint8Array(4) }), 31), null);
  t.is(quote(udp(v6), 47), null);
  t.is(quote(udp({ ...v6, extensions: [extension(60)] }), 55), null);
  t.is(quote(udp({ ...v4, fragment: 3, data: 'x' }), 28), null, 'a later fragment');
  t.is(
    quote(udp({ ...v6, data: 'xxxxxxxxxxxxxxxx', extensions: [fragmentHeader(3, true)] }), 64),
    null,
  );
  const version = udp(v4);
  version[0] = 0x55;
  t.is(quote(version, 28), null);
  const header = udp(v4);
  header[0] = 0x44;
  t.is(quote(header, 28), null, 'a header that is shorter than a header');
});

test('quotes of random bytes are read or refused, and nothing past them is touched', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.constantFrom(0x45, 0x60), (bytes, first) => {
      if (bytes.length > 0) bytes[0] = first;
      quote(bytes, bytes.length);
    }),
    SEEDED,
  );
  t.pass();
});
