// The captures of a gateway: two at a time, and the packets of all workers in the order of their
// times.

import test from 'ava';
import {
  CaptureWriter,
  createCapturedPacket,
  FROM_DEVICE,
  TO_DEVICE,
} from '../../../dataplane/rings/capture-ring.ts';
import { RunningCaptures } from '../../../dataplane/gateway/captures.ts';
import { MAX_CAPTURES } from '../../../dataplane/constants.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { counting } from '../../support/dataplane/packets.ts';

const order = {
  publicKey: 'key',
  snaplen: 128,
  onlyRefused: false,
  destination: null,
  protocol: null,
  port: null,
};

function write(ring: SharedArrayBuffer, wallMs: number, bytes = 20): void {
  const facts = { by: 'nothing', rule: null, flow: 'none', segmentBytes: 0 } as const;
  new CaptureWriter(ring).write(
    { ...facts, place: TO_DEVICE, isOutbound: true, reason: reasons.none, wallMs, length: bytes },
    counting(bytes),
    0,
    bytes,
  );
}

test('as many captures run as can; one that ends makes room for one', (t) => {
  const captures = new RunningCaptures();
  const all = Array.from({ length: MAX_CAPTURES }, () => captures.begin(order, 1)!);
  t.is(MAX_CAPTURES, 2);
  t.deepEqual(
    all.map(({ number }) => number),
    [0, 1],
  );
  t.is(captures.begin(order, 1), null);
  let ends = 0;
  all[0]!.capture.onStop = () => (ends += 1);
  all[0]!.capture.end();
  const next = captures.begin(order, 1);
  t.is(next?.number, 0);
  all[0]!.capture.end();
  t.is(ends, 1, 'ending twice is no harm, also to the one that took its number');
  t.is(captures.begin(order, 1), null);
  t.is([...captures.all].length, 2);
});

test('packets of several workers come in the order of their times', (t) => {
  const { capture, rings } = new RunningCaptures().begin(order, 3)!;
  const packet = createCapturedPacket();
  t.false(capture.take(packet));
  for (const [worker, times] of [
    [5, 6, 9],
    [1, 7],
    [2, 3, 8, 10],
  ].entries())
    for (const time of times) write(rings[worker]!, time);
  const found: number[] = [];
  while (capture.take(packet)) found.push(packet.wallMs);
  t.deepEqual(found, [1, 2, 3, 5, 6, 7, 8, 9, 10]);
});

test('what was lost is added up over all workers', (t) => {
  const { capture, rings } = new RunningCaptures().begin(order, 2)!;
  for (const ring of rings) for (let i = 0; i < 70; i++) write(ring, i, 65_000);
  t.is(capture.lost(FROM_DEVICE), 0);
  t.is(capture.lost(TO_DEVICE), 2 * (70 - 64));
});
