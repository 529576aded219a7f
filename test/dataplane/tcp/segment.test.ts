// Reading segments: options in any order, and options that lie.

import test from 'ava';
import { readSegment, Segment } from '../../../dataplane/tcp/segment.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { tcp, viewOf } from '../../support/dataplane/packets.ts';

function read(options: readonly number[], change: (packet: Uint8Array) => void = () => undefined) {
  const padded = [...options];
  while (padded.length % 4 !== 0) padded.push(0);
  const packet = tcp({
    source: '10.0.0.2',
    destination: '192.0.2.1',
    sequence: 0xffff_fffe,
    acknowledgement: 7,
    window: 500,
    flags: 0x18,
    options: new Uint8Array(padded),
    data: 'hello',
  });
  change(packet);
  const inner = new InnerPacket();
  const segment = new Segment();
  t0(parseInner(viewOf(packet), 0, packet.length, inner));
  return { isRead: readSegment(viewOf(packet), 0, inner, segment), segment, packet };
}

function t0(reason: number): void {
  if (reason !== 0) throw new Error(`no packet: ${reason}`);
}

test('the header', (t) => {
  const { isRead, segment, packet } = read([]);
  t.true(isRead);
  t.is(segment.sequence, -2);
  t.is(segment.acknowledgement, 7);
  t.is(segment.window, 500);
  t.is(segment.flags, 0x18);
  t.is(segment.length, 5);
  t.is(packet[segment.at], 'h'.charCodeAt(0));
  t.deepEqual(
    [segment.mss, segment.shift, segment.isSackPermitted, segment.hasTimestamp, segment.blockCount],
    [0, -1, false, false, 0],
  );
});

test('options in any order, with others between them', (t) => {
  const mss = [2, 4, 5, 180];
  const scale = [3, 3, 9];
  const permitted = [4, 2];
  const stamp = [8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
  const unknown = [99, 3, 1];
  for (const options of [
    [...mss, ...permitted, ...stamp, 1, ...scale],
    [...unknown, 1, ...scale, ...stamp, ...permitted, 1, 1, ...mss],
  ]) {
    const { segment } = read(options);
    t.is(segment.mss, 1_460);
    t.is(segment.shift, 9);
    t.true(segment.isSackPermitted);
    t.deepEqual([segment.hasTimestamp, segment.stamp, segment.echo], [true, 5, 6]);
  }
});

test('the usual line of a timestamp', (t) => {
  const { segment } = read([1, 1, 8, 10, 255, 255, 255, 254, 0, 0, 0, 6]);
  t.deepEqual([segment.hasTimestamp, segment.stamp, segment.echo], [true, -2, 6]);
});

test('SACK blocks', (t) => {
  const edges = (...numbers: number[]) => numbers.flatMap((number) => [0, 0, 0, number]);
  const { segment } = read([1, 1, 5, 18, ...edges(5, 9, 20, 30)]);
  t.is(segment.blockCount, 2);
  t.deepEqual([...segment.blocks.subarray(0, 4)], [5, 9, 20, 30]);
  t.is(read([5, 3, 1]).segment.blockCount, 0);
  t.is(read([5, 2]).segment.blockCount, 0);
});

test('what comes after the end, or lies about its length, is not read', (t) => {
  t.is(read([0, 2, 4, 5]).segment.mss, 0);
  t.is(read([99, 0, 2, 4, 5, 180]).segment.mss, 0);
  t.is(read([99, 1, 2, 4, 5, 180]).segment.mss, 0);
  t.is(read([99, 40, 2, 4, 5, 180]).segment.mss, 0);
  t.is(read([1, 1, 1, 2]).segment.mss, 0);
  t.is(read([2, 3, 9, 1]).segment.mss, 0);
  t.false(read([8, 10, 0, 0]).segment.hasTimestamp);
  t.is(read([3, 3, 200]).segment.shift, 14);
});

test('a header that is too short or too long is refused', (t) => {
  t.false(read([], (packet) => (packet[32] = 0x40)).isRead);
  t.false(read([], (packet) => (packet[32] = 0xf0)).isRead);
});
