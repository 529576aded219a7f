// Fragments that nobody can put together, and the headers of the whole datagram.

import test from 'ava';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import {
  findFragmentError,
  hasMore,
  headBytes,
  longest,
  nextHeaderOf,
  turnIntoWhole,
  unfragmentedBytes,
  wholeBytes,
} from '../../../dataplane/wire/fragment.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { fragmentsOf } from '../../support/dataplane/fragments.ts';
import {
  concat,
  counting,
  echoRequest,
  extension,
  fragmentHeader,
  ip,
  tcp,
  turned,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';

const four = { source: '10.0.0.2', destination: '192.0.2.1', protocol: 17 };
const six = { source: 'fd00::2', destination: '2001:db8::1', protocol: 17 };

function part(bytes: number, fragment: number, options = 0): Uint8Array {
  const ipOptions = new Uint8Array(options).fill(1);
  return ip({ ...four, payload: new Uint8Array(bytes), fragment, ipOptions });
}

function part6(bytes: number, offset: number, more: boolean, before = 0): Uint8Array {
  const extensions = [
    ...(before === 0 ? [] : [extension(60, before - 1)]),
    fragmentHeader(offset, more),
  ];
  return ip({ ...six, payload: new Uint8Array(bytes), extensions });
}

function read(bytes: Uint8Array): InnerPacket {
  const packet = new InnerPacket();
  const reason = parseInner(viewOf(bytes), 0, bytes.length, packet);
  if (reason !== reasons.none) throw new Error(reasonNames[reason]);
  return packet;
}

const errors: readonly [title: string, bytes: Uint8Array, wanted: ReasonName][] = [
  ['a first one', part(800, 0x2000), 'none'],
  ['a later one', part(800, 0x2064), 'none'],
  ['a last one of any length', part(3, 100), 'none'],
  ['nothing in it', part(0, 100), 'inner_fragment_malformed'],
  ['no multiple of 8', part(801, 0x2000), 'inner_fragment_malformed'],
  ['an end at 65,535', part(65_515 - 65_512 + 0, 65_512 / 8), 'none'],
  ['an end behind it', part(4, 65_512 / 8), 'inner_fragment_malformed'],
  ['options of its own', part(3, 65_512 / 8, 4), 'inner_fragment_malformed'],
  ['a wrong checksum of the header', turned(part(800, 0x2000), 8 * 10), 'inner_fragment_malformed'],
  ['IPv6', part6(800, 0, true), 'none'],
  ['IPv6, nothing in it', part6(0, 8, true), 'inner_fragment_malformed'],
  ['IPv6, no multiple of 8', part6(801, 0, true), 'inner_fragment_malformed'],
  ['IPv6, an end at 65,535', part6(7, 8_191, false), 'none'],
  [
    'IPv6, headers before it and an end behind 65,535',
    part6(7, 8_191, false, 1),
    'inner_fragment_malformed',
  ],
  [
    'an ICMP header that is cut',
    ip({
      ...six,
      protocol: 58,
      payload: new Uint8Array(8),
      extensions: [fragmentHeader(0, true), extension(60)],
    }),
    'none',
  ],
  [
    'TCP options that are cut',
    ip({
      ...four,
      protocol: 6,
      payload: tcp({ ...four, options: new Uint8Array(20).fill(1) }).subarray(20, 44),
      fragment: 0x2000,
    }),
    'inner_fragment_unsafe',
  ],
];

for (const [title, bytes, wanted] of errors)
  test(`a fragment, ${title}: ${wanted}`, (t) => {
    t.is(reasonNames[findFragmentError(viewOf(bytes), 0, read(bytes))], wanted);
  });

test('a fragment of ICMP without its whole header is unsafe', (t) => {
  const bytes = ip({
    ...six,
    protocol: 58,
    payload: new Uint8Array(0),
    extensions: [fragmentHeader(0, true), extension(60)],
  });
  t.is(reasonNames[findFragmentError(viewOf(bytes), 0, read(bytes))], 'inner_fragment_unsafe');
});

test('a fragment of a fragment cannot be read', (t) => {
  const headers = [fragmentHeader(0, true), fragmentHeader(0, true)];
  const bytes = udp({ ...six, data: counting(80), extensions: headers });
  const reason = parseInner(viewOf(bytes), 0, bytes.length, new InnerPacket());
  t.is(reasonNames[reason], 'inner_headers_unparsable');
});

const wholes: readonly [title: string, whole: Uint8Array, cutAt: number][] = [
  ['IPv4', udp({ ...four, data: counting(2_000), fragment: 0, identification: 7 }), 40],
  [
    'IPv4, which may not be fragmented',
    udp({ ...four, data: counting(2_000), fragment: 0x4000, identification: 7 }),
    40,
  ],
  [
    'options',
    udp({
      ...four,
      data: counting(2_000),
      fragment: 0,
      identification: 7,
      ipOptions: new Uint8Array(8).fill(1),
    }),
    40,
  ],
  ['IPv6', udp({ ...six, data: counting(2_000) }), 40],
  [
    'headers before it',
    udp({ ...six, data: counting(2_000), extensions: [extension(0), extension(60, 2)] }),
    72,
  ],
  [
    'headers before and behind it',
    udp({ ...six, data: counting(2_000), extensions: [extension(0), extension(60)] }),
    48,
  ],
  [
    'an authentication header before it',
    udp({
      ...six,
      data: counting(2_000),
      extensions: [{ type: 51, body: Uint8Array.of(4, ...new Uint8Array(22)) }],
    }),
    64,
  ],
  ['a ping', echoRequest(six.source, six.destination, 1, 7, 2_000), 40],
];

for (const [title, whole, cutAt] of wholes)
  test(`${title}: the headers of the whole follow from the first fragment`, (t) => {
    const isAuthentication = title.startsWith('an authentication');
    const fragments = isAuthentication
      ? cutBehindAuthentication(whole)
      : fragmentsOf(whole, 1_000, 7, cutAt);
    const [first] = fragments as [Uint8Array];
    const packet = read(first);
    const view = viewOf(first.slice());
    const head = headBytes(packet);
    const next = packet.version === 6 ? nextHeaderOf(view, 0, packet) : 0;
    const bytes = wholeBytes(packet, whole.length - head);
    t.is(bytes, whole.length);
    t.true(bytes <= longest(packet));
    turnIntoWhole(view, 0, packet, bytes, 64, next);
    t.deepEqual(new Uint8Array(view.buffer).slice(0, head), whole.slice(0, head));
    const all = fragments.map((one) => hasMore(viewOf(one), 0, read(one)));
    t.deepEqual(
      all,
      fragments.map((_, i) => i < fragments.length - 1),
    );
    const mayBeCut = title !== 'IPv4, which may not be fragmented' && packet.version === 4;
    t.is(unfragmentedBytes(viewOf(first), 0, packet), mayBeCut ? 0 : first.length);
  });

/** Its length counts in other units, so `fragmentsOf` cannot walk over it. */
function cutBehindAuthentication(whole: Uint8Array): Uint8Array[] {
  const header = Uint8Array.of(whole[40]!, 0, 0, 1, 0, 0, 0, 7);
  const first = concat(whole.subarray(0, 64), header, whole.subarray(64, 864));
  first[40] = 44;
  viewOf(first).setUint16(4, first.length - 40);
  const last = concat(whole.subarray(0, 64), header, whole.subarray(864));
  last[40] = 44;
  viewOf(last).setUint16(4, last.length - 40);
  viewOf(last).setUint16(66, 800);
  return [first, last];
}
