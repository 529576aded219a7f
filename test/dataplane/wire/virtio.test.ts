// What TypeScript reads of a virtio_net_hdr.

import test from 'ava';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import {
  bytesOfSegments,
  hasPartialChecksum,
  segmentBytes,
  segmentsOf,
  VIRTIO_HEADER_BYTES,
} from '../../../dataplane/wire/virtio.ts';
import {
  concat,
  counting,
  DATA_VALID,
  join,
  NEEDS_CSUM,
  tcp,
  type TunMessage,
  udp,
  viewOf,
  virtioHeader,
} from '../../support/dataplane/packets.ts';

function bytesOfLargest({ header, packet }: TunMessage): number {
  const view = viewOf(concat(header, packet));
  const parsed = new InnerPacket();
  parseInner(view, VIRTIO_HEADER_BYTES, packet.length, parsed);
  return segmentBytes(view, VIRTIO_HEADER_BYTES, parsed);
}

test('a checksum is partial where the header says that one is needed', (t) => {
  const isPartial = (flags: number): boolean =>
    hasPartialChecksum(viewOf(virtioHeader({ flags })), VIRTIO_HEADER_BYTES);
  t.deepEqual([0, NEEDS_CSUM, DATA_VALID, NEEDS_CSUM | DATA_VALID].map(isPartial), [
    false,
    true,
    false,
    true,
  ]);
});

test('a packet that is not to be cut is as large as it is', (t) => {
  const packet = udp({ source: '10.0.0.2', destination: '10.0.0.3', data: counting(33) });
  t.is(bytesOfLargest({ header: virtioHeader({}), packet }), packet.length);
});

test('of a super-packet the segments count, with their headers', (t) => {
  const four = { source: '10.0.0.2', destination: '10.0.0.3' };
  const six = { source: 'fd00::2', destination: 'fd00::3' };
  const options = new Uint8Array(12).fill(1);
  const first = tcp({ ...four, data: counting(100), options });
  t.is(bytesOfLargest(join([first, tcp({ ...four, data: counting(7), options })])), first.length);
  const datagram = udp({ ...six, data: counting(100) });
  t.is(bytesOfLargest(join([datagram, datagram, datagram])), datagram.length);
});

test('a super-packet is so many packets with so many bytes as it is cut into', (t) => {
  const four = { source: '10.0.0.2', destination: '10.0.0.3' };
  const sumOf = ({ header, packet }: TunMessage): [packets: number, bytes: number] => {
    const view = viewOf(concat(header, packet));
    const parsed = new InnerPacket();
    parseInner(view, VIRTIO_HEADER_BYTES, packet.length, parsed);
    const segments = segmentsOf(view, VIRTIO_HEADER_BYTES, parsed);
    return [segments, bytesOfSegments(view, VIRTIO_HEADER_BYTES, parsed, segments)];
  };
  const options = new Uint8Array(12).fill(1);
  for (const sizes of [[100], [100, 100], [100, 100, 1], [1_300, 1_300, 1_300, 700]]) {
    const packets = sizes.map((size) => tcp({ ...four, data: counting(size), options }));
    const bytes = packets.reduce((sum, { length }) => sum + length, 0);
    t.deepEqual(sumOf(join(packets)), [sizes.length, bytes], sizes.join(' '));
  }
  const datagrams = [100, 100, 40].map((size) =>
    udp({ source: 'fd00::2', destination: 'fd00::3', data: counting(size) }),
  );
  t.deepEqual(sumOf(join(datagrams)), [3, 3 * 48 + 240]);
  const whole = udp({ ...four, data: counting(33) });
  t.deepEqual(sumOf({ header: virtioHeader({}), packet: whole }), [1, whole.length]);
});
