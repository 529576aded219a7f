// Packets that follow one of the same flow: whatever is recognized is decoded as the slow way
// decodes it. Each bit of a header is turned once.

import test from 'ava';
import { reasons } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { findMalformed } from '../../../dataplane/wire/malformed.ts';
import { isNext } from '../../../dataplane/wire/next.ts';
import {
  echoRequest,
  extension,
  flagsOf,
  fragmentHeader,
  ip,
  tcp,
  turned,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';

const v4 = { source: '10.0.0.2', destination: '192.0.2.1', data: 'abcdefghijklmnop' };
const v6 = { source: 'fd00::2', destination: '2001:db8::1', data: 'abcdefghijklmnop' };
const ack = flagsOf('A');

const plain: readonly [title: string, bytes: Uint8Array][] = [
  ['TCP over IPv4', tcp({ ...v4, flags: ack })],
  ['TCP over IPv6', tcp({ ...v6, flags: ack })],
  ['UDP over IPv4', udp(v4)],
  ['UDP over IPv6', udp(v6)],
];
const special: readonly [title: string, bytes: Uint8Array][] = [
  ['SYN', tcp({ ...v4, flags: flagsOf('S') })],
  ['FIN', tcp({ ...v4, flags: flagsOf('FA') })],
  ['RST', tcp({ ...v6, flags: flagsOf('R') })],
  ['a ping', echoRequest('10.0.0.2', '192.0.2.1')],
  ['an extension header', udp({ ...v6, extensions: [extension(60)] })],
  ['a first fragment', udp({ ...v6, extensions: [fragmentHeader(0, true)] })],
  ['another protocol', ip({ ...v4, protocol: 47, payload: new Uint8Array(40) })],
];

function decoded(bytes: Uint8Array, available = bytes.length): InnerPacket | null {
  const packet = new InnerPacket();
  const view = viewOf(bytes);
  const reason = parseInner(view, 0, available, packet);
  return reason === reasons.none && findMalformed(view, 0, packet) === reasons.none ? packet : null;
}

/** What `isNext` makes of bytes after a packet; null: it does not know them. */
function next(
  before: InnerPacket,
  bytes: Uint8Array,
  available = bytes.length,
): InnerPacket | null {
  const packet = Object.assign(new InnerPacket(), before);
  return isNext(viewOf(bytes), 0, available, packet) ? packet : null;
}

for (const [title, bytes] of plain) {
  const before = decoded(bytes)!;

  test(`${title}: each bit of the header`, (t) => {
    let recognized = 0;
    for (let bit = 0; bit < 8 * Math.min(bytes.length, 80); bit++) {
      const changed = turned(bytes, bit);
      const packet = next(before, changed);
      if (packet === null) continue;
      recognized += 1;
      t.deepEqual(packet, decoded(changed), `bit ${bit}`);
    }
    // Checksums, sequence numbers, the window and the data may be others.
    t.true(recognized > 100, `${recognized}`);
  });

  test(`${title}: each length that may be there`, (t) => {
    for (let available = 0; available < bytes.length; available++)
      t.is(next(before, bytes, available), null, `${available}`);
    const padded = new Uint8Array(bytes.length + 16);
    padded.set(bytes);
    t.deepEqual(next(before, padded), before);
  });

  test(`${title}: a header that promises more or less`, (t) => {
    const at = bytes[0]! >> 4 === 4 ? 2 : 4;
    for (let length = 0; length <= 200; length++) {
      const changed = new Uint8Array(160);
      changed.set(bytes);
      viewOf(changed).setUint16(at, length);
      const packet = next(before, changed);
      if (packet !== null) t.deepEqual(packet, decoded(changed), `${length}`);
      else t.true(decoded(changed) === null, `${length}`);
    }
  });
}

for (const [title, bytes] of special)
  test(`${title} is never recognized`, (t) => {
    const packet = decoded(bytes)!;
    t.is(next(packet, bytes), null);
    for (const [, other] of plain) {
      t.is(next(decoded(other)!, bytes), null);
      t.is(next(packet, other), null);
    }
  });

test('a packet that is not recognized leaves everything as it is', (t) => {
  for (const [title, bytes] of plain) {
    const before = decoded(bytes)!;
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = turned(bytes, bit);
      const packet = Object.assign(new InnerPacket(), before);
      if (!isNext(viewOf(changed), 0, changed.length, packet)) t.deepEqual(packet, before, title);
    }
  }
});

test('PSH may come and go', (t) => {
  const before = decoded(tcp({ ...v4, flags: ack }))!;
  const pushed = tcp({ ...v4, flags: flagsOf('PA') });
  t.deepEqual(next(before, pushed), decoded(pushed));
});

test('nothing is allocated', (t) => {
  const bytes = plain[0]![1];
  const [packet, view] = [decoded(bytes)!, viewOf(bytes)];
  t.true(bytesPerCall(() => isNext(view, 0, bytes.length, packet)) < 1);
});
