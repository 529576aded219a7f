// The stream of one capture: it begins at once, ends as it was asked to, and a client that reads too
// slowly loses packets, which are counted, and costs no memory.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { CaptureWriter, REFUSED, TO_DEVICE } from '../../../../dataplane/rings/capture-ring.ts';
import { RunningCaptures } from '../../../../dataplane/gateway/captures.ts';
import { CAPTURE_RING_BYTES } from '../../../../dataplane/constants.ts';
import { createCapturedPacket } from '../../../../dataplane/index.ts';
import { reasonNames, reasons } from '../../../../dataplane/reasons.ts';
import {
  type CaptureResult,
  CaptureStream,
  commentOn,
  type StreamOptions,
} from '../../../../lib/observe/capture/stream.ts';
import { counting } from '../../../support/dataplane/packets.ts';
import { readPcapng } from '../../../support/network/pcapng.ts';

const PACKET_BYTES = 1_400;
const packetBytes = counting(PACKET_BYTES);
const order = {
  publicKey: 'key',
  snaplen: 65_535,
  onlyRefused: false,
  destination: null,
  protocol: null,
  port: null,
};

interface Scene {
  readonly stream: CaptureStream;
  readonly results: CaptureResult[];
  readonly counted: { packets: number; lost: number };
  /** A worker captures so many packets. */
  readonly capture: (count: number, place?: number) => void;
  readonly running: RunningCaptures;
}

function open(fields: Partial<StreamOptions> = {}): Scene {
  const running = new RunningCaptures();
  const { capture, rings } = running.begin(order, 1)!;
  const writer = new CaptureWriter(rings[0]!);
  const results: CaptureResult[] = [];
  const counted = { packets: 0, lost: 0 };
  const stream = new CaptureStream({
    capture,
    application: 'Postern',
    comment: 'about it',
    names: [{ address: Uint8Array.of(10, 0, 0, 2), name: 'laptop' }],
    snaplen: 65_535,
    durationMs: 60_000,
    bytesMax: 1_073_741_824,
    count: (packets, lost) => {
      counted.packets += packets;
      counted.lost += lost;
    },
    ended: (result) => results.push(result),
    ...fields,
  });
  const facts = {
    isOutbound: true,
    by: 'rule',
    rule: 'r',
    flow: 'opens',
    wallMs: 1,
    length: PACKET_BYTES,
    segmentBytes: 0,
  } as const;
  const capturePackets = (count: number, place = TO_DEVICE): void => {
    const reason = place === REFUSED ? reasons['rule_drop']! : reasons.none;
    for (let i = 0; i < count; i++)
      writer.write({ ...facts, place, reason }, packetBytes, 0, PACKET_BYTES);
  };
  return { stream, results, counted, capture: capturePackets, running };
}

async function all(stream: CaptureStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('the file begins at once, with its interfaces and the name of the device', async (t) => {
  const { stream, running } = open();
  const first = stream.read() as Buffer;
  const { application, comment, interfaces, names, packets } = readPcapng(first);
  t.is(application, 'Postern');
  t.is(comment, 'about it');
  t.deepEqual(interfaces, [
    { name: 'from device', snaplen: 65_535, linktype: 101 },
    { name: 'to device', snaplen: 65_535, linktype: 101 },
    { name: 'refused', snaplen: 65_535, linktype: 101 },
  ]);
  t.deepEqual([...names], [['0a000002', 'laptop']]);
  t.is(packets.length, 0);
  stream.destroy();
  await once(stream, 'close');
  t.is([...running.all].length, 0);
});

test('packets come while it runs, and the last counts say why it ended', async (t) => {
  const { stream, capture, results, counted, running } = open({ durationMs: 1_000 });
  const bytes = all(stream);
  capture(2);
  await sleep(100);
  capture(3, REFUSED);
  const { packets, counts } = readPcapng(await bytes);
  t.deepEqual(
    packets.map(({ place, comment }) => `${place}: ${comment}`),
    [
      'to device: accept; rule r',
      'to device: accept; rule r',
      ...Array.from({ length: 3 }, () => 'refused: drop; rule_drop; rule r'),
    ],
  );
  t.deepEqual(packets[0]!.bytes, Buffer.from(packetBytes));
  const comment = 'It ended: its time was over.';
  t.deepEqual(counts, [
    { place: 'from device', received: 0, lost: 0, comment },
    { place: 'to device', received: 2, lost: 0, comment },
    { place: 'refused', received: 3, lost: 0, comment },
  ]);
  t.like(results, { length: 1, 0: { end: 'duration', packets: 5, lost: 0 } });
  t.deepEqual(counted, { packets: 5, lost: 0 });
  t.is([...running.all].length, 0);
});

test('it ends before it has more bytes than were asked for', async (t) => {
  const { stream, capture, results } = open({ bytesMax: 10_000 });
  capture(20);
  const bytes = await all(stream);
  const { packets, counts } = readPcapng(bytes);
  t.true(bytes.length <= 10_000 && bytes.length > 8_000, `${bytes.length}`);
  t.is(packets.length, 5);
  t.is(counts.at(-1)?.comment, 'It ended: it had as many bytes as were asked for.');
  t.like(results, { length: 1, 0: { end: 'bytes', packets: 5, lost: 0, bytes: bytes.length } });
});

test('a client that does not read loses packets, and memory is not taken for them', async (t) => {
  const { stream, capture, counted, results } = open();
  const rounds = 12;
  const perRound = 2_000;
  for (let i = 0; i < rounds; i++) {
    capture(perRound);
    await sleep(30);
  }
  t.true(stream.readableLength < 1024 * 1024, `${stream.readableLength} bytes wait`);
  stream.finish('duration');
  const { packets, counts } = readPcapng(await all(stream));
  const sum = rounds * perRound;
  const lost = counts.find(({ place }) => place === 'to device')!;
  t.is(packets.length + lost.lost, sum);
  t.is(lost.received, sum);
  t.true(lost.lost > sum / 2, `${lost.lost} of ${sum} were lost`);
  t.true(packets.length * PACKET_BYTES > CAPTURE_RING_BYTES / 2, 'what the ring held was sent');
  t.deepEqual(counted, { packets: packets.length, lost: lost.lost });
  t.like(results, { length: 1, 0: { lost: lost.lost, packets: packets.length } });
});

test('a client that reads loses nothing', async (t) => {
  const { stream, capture } = open();
  const bytes = all(stream);
  for (let i = 0; i < 40; i++) {
    capture(700);
    await sleep(25);
  }
  stream.finish('duration');
  const { packets, counts } = readPcapng(await bytes);
  t.is(packets.length, 40 * 700);
  t.deepEqual(
    counts.map(({ lost }) => lost),
    [0, 0, 0],
  );
});

test('counts are sent from time to time, also while nothing comes', async (t) => {
  const { stream } = open({ durationMs: 500, statisticsMs: 50 });
  const { counts } = readPcapng(await all(stream));
  // The last ones are those of the end.
  t.true(counts.length >= 2 * 3, `${counts.length} blocks`);
  t.is(counts[0]!.comment, null);
});

test('counts are part of the bytes that were asked for', async (t) => {
  const { stream, results } = open({ bytesMax: 4_096, statisticsMs: 5 });
  const bytes = await all(stream);
  t.true(bytes.length <= 4_096, `${bytes.length}`);
  t.like(results, { length: 1, 0: { end: 'bytes' } });
});

test('a client that goes away ends it at once', async (t) => {
  const { stream, results, running } = open();
  stream.destroy();
  await once(stream, 'close');
  t.like(results, { length: 1, 0: { end: 'client' } });
  t.is([...running.all].length, 0);
});

for (const [end, words] of [
  ['access', 'whoever asked for it may not any more.'],
  ['stop', 'the gateway stops.'],
] as const)
  test(`what waits when it ends for "${end}" is not sent`, async (t) => {
    const { stream, capture, results } = open();
    capture(10);
    stream.finish(end);
    stream.finish('duration');
    const { packets, counts } = readPcapng(await all(stream));
    t.is(packets.length, 0);
    t.like(counts[1], { received: 10, lost: 10, comment: `It ended: ${words}` });
    t.like(results, { length: 1, 0: { end, lost: 10 } });
  });

test('a comment says verdict, reason and what decided', (t) => {
  const of = (fields: object): string => commentOn({ ...createCapturedPacket(), ...fields });
  t.is(of({}), 'accept');
  t.is(of({ by: 'default' }), 'accept; default action');
  t.is(of({ by: 'nothing', flow: 'continues' }), 'accept; no rule is asked');
  t.is(of({ by: 'rule', rule: 'id' }), 'accept; rule id');
  t.is(of({ by: 'rule' }), 'accept; a rule of the other side');
  t.is(of({ by: 'gateway' }), 'accept; answer of the gateway');
  t.is(of({ reason: 'rule_drop', by: 'rule', rule: 'id' }), 'drop; rule_drop; rule id');
  t.is(of({ reason: 'default_drop', by: 'default' }), 'drop; default_drop; default action');
  t.is(of({ segmentBytes: 1_380 }), 'accept; joined, segments of 1380 bytes');
  t.is(of({ segmentBytes: 1 }), 'accept; checksum not complete');
  for (const reason of reasonNames.slice(1)) t.is(of({ reason }), `drop; ${reason}`);
});
