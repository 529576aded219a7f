// Inner packets of any bytes: nothing past their end is touched.

import test from 'ava';
import fc from 'fast-check';
import { type ReasonName, reasons } from '../../../dataplane/reasons.ts';
import {
  FIRST_FRAGMENT,
  InnerPacket,
  LATER_FRAGMENT,
  parseInner,
  WHOLE,
} from '../../../dataplane/wire/ip.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import {
  address,
  concat,
  extension,
  ip,
  tcp,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import { parse, v4, v6 } from '../../support/dataplane/inner-packets.ts';

// ---- any bytes -------------------------------------------------------------------------------

/** Parsing written with slices and exceptions; slow, and plain enough to be right. */
function slowParse(bytes: Uint8Array): { reason: ReasonName } & Partial<Record<string, unknown>> {
  const version = (bytes[0] ?? 0) >> 4;
  if (version === 4) return slowIpv4(bytes);
  return version === 6 ? slowIpv6(bytes) : { reason: 'inner_malformed' };
}

function slowIpv4(bytes: Uint8Array): ReturnType<typeof slowParse> {
  const buffer = Buffer.from(bytes);
  if (buffer.length < 20) return { reason: 'inner_malformed' };
  const header = (buffer[0]! % 16) * 4;
  const length = buffer.readUInt16BE(2);
  if (header < 20 || length < header || length > buffer.length)
    return { reason: 'inner_malformed' };
  const offset = buffer.readUInt16BE(6) % 0x2000;
  const more = buffer.readUInt16BE(6) % 0x4000 >= 0x2000;
  const fragment = offset > 0 ? LATER_FRAGMENT : more ? FIRST_FRAGMENT : WHOLE;
  const common = { version: 4, length, protocol: buffer[9]!, upperOffset: header, fragment };
  return slowUpper(buffer.subarray(header, length), common, offset);
}

function slowIpv6(bytes: Uint8Array): ReturnType<typeof slowParse> {
  const buffer = Buffer.from(bytes);
  if (buffer.length < 40 || 40 + buffer.readUInt16BE(4) > buffer.length)
    return { reason: 'inner_malformed' };
  const length = 40 + buffer.readUInt16BE(4);
  let upperOffset = 40;
  let protocol = buffer[6]!;
  let fragment = WHOLE;
  let offset = 0;
  let fragmentHeaders = 0;
  for (let headers = 0; [0, 43, 44, 60, 51, 135].includes(protocol); headers++) {
    const rest = buffer.subarray(upperOffset, length);
    if (headers === 8 || rest.length < 8) return { reason: 'inner_headers_unparsable' };
    if (protocol === 44) {
      fragmentHeaders += 1;
      if (fragmentHeaders === 2) return { reason: 'inner_headers_unparsable' };
      offset = Math.floor(rest.readUInt16BE(2) / 8);
      if (offset > 0) fragment = LATER_FRAGMENT;
      else if (rest.readUInt16BE(2) % 2 === 1) fragment = FIRST_FRAGMENT;
      upperOffset += 8;
    } else {
      upperOffset += protocol === 51 ? 8 + 4 * rest[1]! : 8 + 8 * rest[1]!;
    }
    protocol = rest[0]!;
    if (fragment === LATER_FRAGMENT) break;
  }
  if (upperOffset > length) return { reason: 'inner_headers_unparsable' };
  const common = { version: 6, length, protocol, upperOffset, fragment };
  return slowUpper(buffer.subarray(upperOffset, length), common, offset);
}

function slowUpper(
  upper: Buffer,
  common: { version: number; protocol: number; fragment: number },
  offset: number,
): ReturnType<typeof slowParse> {
  const { protocol, fragment } = common;
  const none = { reason: 'none' as const, ...common, sourcePort: -1, destinationPort: -1 };
  if (fragment === LATER_FRAGMENT)
    return protocol === 6 && offset === 1 ? { reason: 'inner_fragment_unsafe' } : none;
  if (protocol !== 6 && protocol !== 17) return none;
  if (upper.length < (protocol === 6 ? 20 : 8))
    return { reason: fragment === WHOLE ? 'inner_malformed' : 'inner_fragment_unsafe' };
  return { ...none, sourcePort: upper.readUInt16BE(0), destinationPort: upper.readUInt16BE(2) };
}

/** Bytes that are often nearly a packet: versions, lengths and protocols that make sense. */
const anyBytes = fc
  .record({
    bytes: fc.uint8Array({ maxLength: 120, size: 'max' }),
    version: fc.constantFrom(4, 4, 6, 6, 6, 5),
    words: fc.integer({ min: 4, max: 7 }),
    protocols: fc.array(fc.constantFrom(0, 1, 6, 17, 43, 44, 50, 51, 58, 60, 135), {
      maxLength: 8,
      size: 'max',
    }),
    shorter: fc.constantFrom(0, 0, 0, 1, 8, -1),
    fragment: fc.constantFrom(0, 0, 0x2000, 0x2001, 1, 8, 9, 0x4000, 0xffff),
  })
  .map(({ bytes, version, words, protocols, shorter, fragment }) => {
    const packet = bytes.slice();
    if (packet.length < 44) return packet;
    packet[0] = (version << 4) | words;
    const view = viewOf(packet);
    view.setUint16(version === 4 ? 2 : 4, packet.length - shorter - (version === 4 ? 0 : 40));
    packet[version === 4 ? 9 : 6] = protocols[0] ?? 17;
    view.setUint16(version === 4 ? 6 : 42, fragment);
    // Short extension headers, so that chains are walked and not only begun.
    for (let i = 1; i < protocols.length && 40 + 8 * i < packet.length; i++)
      packet.set([protocols[i]!, i % 3 === 0 ? 1 : 0], 32 + 8 * i);
    return packet;
  });

test('any bytes are read as the slow twin reads them, and never past their end', (t) => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const { packet, reason } = parse(bytes);
      const wanted = slowParse(bytes);
      seen.add(reason);
      if (wanted.reason === 'none') t.like(packet, withoutReason(wanted));
      return reason === wanted.reason;
    }),
    { ...SEEDED, numRuns: 20_000 },
  );
  // Otherwise the bytes above would be too random to say much.
  t.deepEqual([...seen].sort(), [
    'inner_fragment_unsafe',
    'inner_headers_unparsable',
    'inner_malformed',
    'none',
  ]);
});

function withoutReason(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== 'reason'));
}

test('a packet between others in an arena is read alone', (t) => {
  const bytes = tcp({ ...v6, extensions: [extension(60)] });
  const arena = new Uint8Array(500).fill(0xff);
  arena.set(bytes, 77);
  const packet = new InnerPacket();
  t.is(parseInner(viewOf(arena), 77, bytes.length, packet), reasons.none);
  t.like(packet, { upperOffset: 48, destinationPort: 5000, length: bytes.length });
  t.is(parseInner(viewOf(arena), 77, bytes.length - 1, packet), reasons.inner_malformed);
});

test('reading a packet allocates nothing', (t) => {
  const bytes = concat(udp(v4), tcp({ ...v6, extensions: [extension(0), extension(60)] }));
  const view = viewOf(bytes);
  const packet = new InnerPacket();
  const first = udp(v4).length;
  t.true(
    bytesPerCall(() => {
      parseInner(view, 0, first, packet);
      parseInner(view, first, bytes.length - first, packet);
    }) < 1,
  );
});

test('an address is one value, so that words can be compared as numbers', (t) => {
  const { packet } = parse(
    ip({
      source: '255.255.255.254',
      destination: '128.0.0.0',
      protocol: 50,
      payload: new Uint8Array(0),
    }),
  );
  t.is(packet.source0, viewOf(address('255.255.255.254')).getInt32(0));
  t.is(packet.destination0, -2_147_483_648);
});
