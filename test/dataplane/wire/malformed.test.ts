// What no honest sender makes of TCP, UDP and ICMP, against a slow twin in the words of the RFCs;
// and what is rare and correct.

import test from 'ava';
import fc from 'fast-check';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { findMalformed } from '../../../dataplane/wire/malformed.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import {
  concat,
  echoRequest,
  flagsOf,
  fragmentHeader,
  ip,
  tcp,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const v4 = { source: '10.0.0.2', destination: '192.0.2.1' };
const v6 = { source: 'fd00::2', destination: '2001:db8::1' };

function judge(bytes: Uint8Array): ReasonName {
  const packet = new InnerPacket();
  const unreadable = parseInner(viewOf(bytes), 0, bytes.length, packet);
  if (unreadable !== reasons.none) return reasonNames[unreadable]!;
  return reasonNames[findMalformed(viewOf(bytes), 0, packet)]!;
}

/** A packet with some bytes of its upper layer changed. */
function changed(bytes: Uint8Array, at: number, ...values: number[]): Uint8Array {
  const copy = bytes.slice();
  copy.set(values, (bytes[0]! >> 4 === 4 ? 20 : 40) + at);
  return copy;
}

function icmp(type: number, quoted: Uint8Array, fields: typeof v4 = v4): Uint8Array {
  const payload = concat(Uint8Array.of(type, 0, 0, 0, 0, 0, 0, 0), quoted);
  return ip({ ...fields, protocol: fields.source.includes(':') ? 58 : 1, payload });
}

const segment = tcp({ ...v4, flags: flagsOf('A'), data: 'abcdefgh' });
const datagram = udp({ ...v4, data: 'abcdefgh' });
const datagram6 = udp({ ...v6, data: 'abcdefgh' });
const bad = {
  tcp: 'inner_tcp_malformed',
  udp: 'inner_udp_malformed',
  icmp: 'inner_icmp_malformed',
};

const rows: readonly [title: string, bytes: Uint8Array, wanted: string][] = [
  ['TCP without flags', changed(segment, 13, 0), bad.tcp],
  ['TCP with SYN and FIN', changed(segment, 13, 0x03), bad.tcp],
  ['TCP with all flags', changed(segment, 13, 0xff), bad.tcp],
  ['TCP with FIN, PSH and URG alone', changed(segment, 13, 0x29), bad.tcp],
  ['TCP with SYN and RST', changed(segment, 13, 0x06), bad.tcp],
  ['TCP with PSH alone', changed(segment, 13, 0x08), bad.tcp],
  ['TCP with FIN alone', changed(segment, 13, 0x01), bad.tcp],
  ['TCP with a header of four words', changed(segment, 12, 0x40), bad.tcp],
  ['TCP with a header of no words', changed(segment, 12, 0x00), bad.tcp],
  ['TCP with a header longer than it', changed(segment, 12, 0x80), bad.tcp],
  ['TCP with options up to its end', changed(segment, 12, 0x70), 'none'],
  ['TCP that asks for ECN', tcp({ ...v4, flags: 0xc2 }), 'none'],
  ['TCP that answers such a request', tcp({ ...v4, flags: 0x52 }), 'none'],
  ['TCP with accurate ECN', changed(segment, 12, 0x51), 'none'],
  ['TCP with urgent data', tcp({ ...v4, flags: 0x30 }), 'none'],
  ['TCP with a SYN that carries data', tcp({ ...v4, flags: 0x02, data: 'fast open' }), 'none'],
  ['TCP with a reset alone', tcp({ ...v4, flags: 0x04 }), 'none'],
  ['TCP with a reset and PSH', tcp({ ...v4, flags: 0x1c }), 'none'],
  ['TCP with its end', tcp({ ...v4, flags: 0x19 }), 'none'],
  ['TCP over IPv6 without flags', tcp({ ...v6, flags: 0 }), bad.tcp],
  ['UDP of length 0', changed(datagram, 4, 0, 0), bad.udp],
  ['UDP of length 3', changed(datagram, 4, 0, 3), bad.udp],
  ['UDP longer than its packet', changed(datagram, 4, 0, 17), bad.udp],
  ['UDP over IPv6 longer than its packet', changed(datagram6, 4, 0, 17), bad.udp],
  ['UDP with options behind it', changed(datagram, 4, 0, 12), 'none'],
  ['UDP without data', udp(v4), 'none'],
  [
    'the first fragment of a long datagram',
    changed(udp({ ...v4, fragment: 0x2000 }), 4, 9, 9),
    'none',
  ],
  [
    'the first fragment of a datagram of length 3',
    changed(udp({ ...v4, data: 'abcdefgh', fragment: 0x2000 }), 4, 0, 3),
    bad.udp,
  ],
  [
    'a later fragment, which looks like anything',
    ip({ ...v4, protocol: 17, payload: new Uint8Array(24), fragment: 4 }),
    'none',
  ],
  [
    'a later IPv6 fragment',
    ip({ ...v6, protocol: 6, payload: new Uint8Array(24), extensions: [fragmentHeader(4, true)] }),
    'none',
  ],
  ['a ping', echoRequest(v4.source, v4.destination), 'none'],
  ['an IPv6 ping', echoRequest(v6.source, v6.destination), 'none'],
  ['ICMP of seven bytes', ip({ ...v4, protocol: 1, payload: new Uint8Array(7) }), bad.icmp],
  ['ICMPv6 of four bytes', ip({ ...v6, protocol: 58, payload: new Uint8Array(4) }), bad.icmp],
  [
    'ICMPv6 in IPv4, which is none',
    ip({ ...v4, protocol: 58, payload: new Uint8Array(4) }),
    'none',
  ],
  ...[3, 4, 5, 11, 12].flatMap((type): [string, Uint8Array, string][] => [
    [`ICMP ${type} that quotes nothing`, icmp(type, new Uint8Array(0)), bad.icmp],
    [`ICMP ${type} that quotes half a header`, icmp(type, datagram.subarray(0, 19)), bad.icmp],
    [`ICMP ${type} that quotes zeros`, icmp(type, new Uint8Array(28)), bad.icmp],
    [`ICMP ${type} that quotes IPv6`, icmp(type, datagram6), bad.icmp],
    [`ICMP ${type} that quotes a packet`, icmp(type, datagram), 'none'],
    [`ICMP ${type} that quotes as little as it may`, icmp(type, datagram.subarray(0, 28)), 'none'],
  ]),
  ...[1, 2, 3, 4, 100].flatMap((type): [string, Uint8Array, string][] => [
    [`ICMPv6 ${type} that quotes nothing`, icmp(type, new Uint8Array(0), v6), bad.icmp],
    [
      `ICMPv6 ${type} that quotes half a header`,
      icmp(type, datagram6.subarray(0, 39), v6),
      bad.icmp,
    ],
    [`ICMPv6 ${type} that quotes IPv4`, icmp(type, concat(datagram, datagram), v6), bad.icmp],
    [`ICMPv6 ${type} that quotes a packet`, icmp(type, datagram6, v6), 'none'],
  ]),
  ['ICMPv6 that asks for a neighbour', icmp(135, new Uint8Array(16), v6), 'none'],
  ['ICMP that asks for the time', icmp(13, new Uint8Array(12)), 'none'],
  ['GRE', ip({ ...v4, protocol: 47, payload: new Uint8Array(4) }), 'none'],
];

for (const [title, bytes, wanted] of rows)
  test(`${title}: ${wanted}`, (t) => t.is(judge(bytes), wanted as ReasonName));

// ---- the slow twin ---------------------------------------------------------------------------

/** The kernel's list: what is left of the flags without PSH and those of congestion. */
const meanings = ['S', 'SU', 'SA', 'R', 'RA', 'FA', 'FAU', 'A', 'AU'];

const letters = ['F', 'S', 'R', 'P', 'A', 'U'];

function slowFlags(flags: number): boolean {
  const set = letters.filter((letter, i) => letter !== 'P' && ((flags >> i) & 1) === 1);
  return meanings.some(
    (meaning) => meaning.length === set.length && set.every((letter) => meaning.includes(letter)),
  );
}

test('flags and lengths are judged as by the slow twin', (t) => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.boolean(),
      fc.nat(255),
      fc.nat(15),
      fc.nat(40),
      fc.nat(60),
      (isIpv6, isTcp, flags, words, dataBytes, length) => {
        const fields = isIpv6 ? v6 : v4;
        const data = new Uint8Array(dataBytes);
        const made = isTcp ? tcp({ ...fields, flags, data }) : udp({ ...fields, data });
        const bytes = isTcp ? changed(made, 12, words << 4) : changed(made, 4, 0, length);
        const isSound = isTcp
          ? slowFlags(flags) && words >= 5 && words * 4 <= 20 + dataBytes
          : length >= 8 && length <= 8 + dataBytes;
        t.is(judge(bytes), (isSound ? 'none' : isTcp ? bad.tcp : bad.udp) as ReasonName);
      },
    ),
    { ...SEEDED, numRuns: 5_000 },
  );
});

test('judging the form allocates nothing', (t) => {
  const views = [segment, datagram, icmp(3, datagram), icmp(1, datagram6, v6)].map(viewOf);
  const packet = new InnerPacket();
  t.true(
    bytesPerCall(() => {
      for (const view of views) {
        parseInner(view, 0, view.byteLength, packet);
        findMalformed(view, 0, packet);
      }
    }) < 1,
  );
});
