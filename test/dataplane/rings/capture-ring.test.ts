// The ring from a worker to the main thread: what was written is read, in order and to the byte;
// what finds no room is counted by place and overwrites nothing.

import test from 'ava';
import {
  CAPTURE_PLACES,
  type CapturedFacts,
  CaptureReader,
  CaptureWriter,
  createCapturedPacket,
  createCaptureRing,
  FROM_DEVICE,
  REFUSED,
  TO_DEVICE,
} from '../../../dataplane/rings/capture-ring.ts';
import { CAPTURE_RING_BYTES } from '../../../dataplane/constants.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';
import { counting } from '../../support/dataplane/packets.ts';

const RULE = '01900000-0000-7000-8000-00000000cafe';

function facts(fields: Partial<CapturedFacts> = {}): CapturedFacts {
  return {
    place: FROM_DEVICE,
    isOutbound: false,
    reason: reasons.none,
    by: 'nothing',
    rule: null,
    flow: 'none',
    wallMs: 1_700_000_000_123,
    length: 100,
    segmentBytes: 0,
    ...fields,
  };
}

function ends(): { writer: CaptureWriter; reader: CaptureReader; ring: SharedArrayBuffer } {
  const ring = createCaptureRing();
  return { ring, writer: new CaptureWriter(ring), reader: new CaptureReader(ring) };
}

test('what is written is read, every field of it', (t) => {
  const { writer, reader } = ends();
  const packet = createCapturedPacket();
  const all: CapturedFacts[] = [
    facts(),
    facts({ place: TO_DEVICE, isOutbound: true, by: 'rule', rule: RULE, flow: 'opens' }),
    facts({ place: REFUSED, reason: reasons['rule_drop']!, by: 'default', flow: 'continues' }),
    facts({ by: 'gateway', length: 65_535, segmentBytes: 1_380, wallMs: 1 }),
  ];
  for (const [i, one] of all.entries()) writer.write(one, counting(300, i), 10 + i, 40 + i);
  for (const [i, { reason, ...one }] of all.entries()) {
    t.is(reader.nextMs, one.wallMs);
    reader.take(packet);
    t.deepEqual(packet, {
      ...one,
      reason: reason === reasons.none ? 'none' : 'rule_drop',
      bytes: counting(40 + i, 10 + 2 * i),
    });
  }
  t.is(reader.nextMs, Number.POSITIVE_INFINITY);
});

test('a ring that nobody reads loses what finds no room, and keeps what it has', (t) => {
  const { writer, reader } = ends();
  const bytes = counting(60_000);
  const fit = Math.floor(CAPTURE_RING_BYTES / (60_000 + 48));
  for (let i = 0; i < fit + 3; i++) writer.write(facts({ length: i }), bytes, 0, bytes.length);
  writer.write(facts({ place: REFUSED }), bytes, 0, bytes.length);
  const lost = (): number[] => [0, 1, 2].map((place) => reader.lost(place));
  t.is(CAPTURE_PLACES, 3);
  t.deepEqual(lost(), [3, 0, 1]);
  const packet = createCapturedPacket();
  for (let i = 0; i < fit; i++) {
    t.not(reader.nextMs, Number.POSITIVE_INFINITY);
    reader.take(packet);
    if (packet.length !== i || !Buffer.from(packet.bytes).equals(bytes)) t.fail(`packet ${i}`);
  }
  t.is(reader.nextMs, Number.POSITIVE_INFINITY);
  writer.write(facts(), bytes, 0, bytes.length);
  t.deepEqual(lost(), [4, 0, 1], 'what was taken is still in use');
  reader.free();
  writer.write(facts({ length: 7 }), bytes, 0, bytes.length);
  t.deepEqual(lost(), [4, 0, 1]);
  t.is(reader.nextMs, facts().wallMs);
  reader.take(packet);
  t.is(packet.length, 7);
});

test('packets of every size, read at random, come out as they went in', (t) => {
  const { writer, reader } = ends();
  const random = chance(7);
  const packet = createCapturedPacket();
  const source = new Uint8Array(140_000).map((_, i) => (i * 31) & 255);
  const waiting: { from: number; bytes: number; wallMs: number }[] = [];
  let [lostBefore, read, lost] = [0, 0, 0];
  for (let i = 0; i < 20_000; i++) {
    const word = new Uint8Array(4);
    random(word);
    const view = new DataView(word.buffer);
    const bytes = word[0]! < 100 ? word[1]! : view.getUint16(1) % 65_536;
    const from = view.getUint16(2);
    writer.write(facts({ wallMs: i, length: bytes }), source, from, bytes);
    const lostNow = reader.lost(FROM_DEVICE);
    if (lostNow === lostBefore) waiting.push({ from, bytes, wallMs: i });
    else lost += 1;
    lostBefore = lostNow;
    if (word[3]! < 2) {
      while (reader.nextMs !== Number.POSITIVE_INFINITY) {
        const expected = waiting.shift()!;
        t.is(reader.nextMs, expected.wallMs);
        reader.take(packet);
        const { from: start, bytes: count } = expected;
        if (!Buffer.from(packet.bytes).equals(source.subarray(start, start + count)))
          t.fail(`packet ${expected.wallMs} is another one`);
        read += 1;
      }
      reader.free();
      t.deepEqual(waiting, []);
    }
  }
  t.true(read > 10_000, `${read} read`);
  t.true(lost > 0, 'the ring was full at times');
});

test('each packet has its own rule, whatever rule those before and the lost ones had', (t) => {
  const { ring, writer, reader } = ends();
  const other = RULE.replace('cafe', 'beef');
  const packet = createCapturedPacket();
  const write = (by: CaptureWriter, rules: readonly (string | null)[], bytes = 10): void => {
    for (const rule of rules) by.write(facts({ rule }), counting(bytes), 0, bytes);
  };
  const taken = (): (string | null)[] => {
    const rules: (string | null)[] = [];
    for (; reader.nextMs !== Number.POSITIVE_INFINITY; rules.push(packet.rule)) reader.take(packet);
    reader.free();
    return rules;
  };
  const rules = [null, RULE, RULE, null, null, other, RULE, RULE];
  write(writer, rules);
  t.deepEqual(taken(), rules);
  const fit = Math.floor(CAPTURE_RING_BYTES / 60_048);
  write(
    writer,
    Array.from({ length: fit }, () => RULE),
    60_000,
  );
  write(writer, [other], 60_000);
  t.is(reader.lost(FROM_DEVICE), 1);
  taken();
  write(writer, [other, RULE]);
  t.deepEqual(taken(), [other, RULE]);
  write(new CaptureWriter(ring), [null, RULE]);
  t.deepEqual(taken(), [null, RULE], 'of a worker that was started again');
});

test('a worker that is started again goes on behind what its ring holds', (t) => {
  const { ring, writer, reader } = ends();
  writer.write(facts({ length: 1 }), counting(50), 0, 50);
  new CaptureWriter(ring).write(facts({ length: 2 }), counting(50), 0, 50);
  const packet = createCapturedPacket();
  const lengths: number[] = [];
  while (reader.nextMs !== Number.POSITIVE_INFINITY) {
    reader.take(packet);
    lengths.push(packet.length);
  }
  t.deepEqual(lengths, [1, 2]);
});
