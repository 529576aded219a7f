// The native contract: whatever descriptors and arenas hold, native code reads and writes only
// inside them and refuses the rest; what it seals leaves once, and in order for each endpoint. The
// first half is worth most with an addon that AddressSanitizer watches: `npm run sanitize -- node
// test/fuzz/fuzz.ts descriptors`.

import { strict as assert } from 'node:assert';
import { SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../../../dataplane/constants.ts';
import {
  type Batch,
  MARK_OPEN,
  MARK_SEAL,
  MARK_TRUNCATED,
  MARK_TUN,
} from '../../../dataplane/contract.ts';
import { addon, setMarks, markOf } from '../../support/dataplane/native.ts';
import { ChoiceReader } from '../reader.ts';
import { AIMED, Sealing, type SealingKey } from './sealing.ts';

/** Descriptors that the input describes completely. */
const TOLD_MAX = 8;
/** Descriptors that the input describes in short: more than twice the search for an endpoint. */
const MORE_MAX = 160;
/** Packets that share a slot, as datagrams do that came as one message. */
const PACKET_BYTES = 4_096;
const LENGTHS = [100, 0, 20, 33, 500, 1_000, 1_420, 2_000] as const;
const marks = [MARK_OPEN, MARK_SEAL, MARK_TUN] as const;

let sealing: Sealing | null = null;

/**
 * Fills a batch with what an input says and gives it to every bulk operation. Returns the marks:
 * they show the fuzzer where native code has been, which coverage of TypeScript cannot.
 */
export function descriptors(input: Uint8Array): string {
  if (addon === null) return '';
  sealing ??= new Sealing(addon);
  const { bench } = sealing;
  const { engine } = bench;
  const reader = new ChoiceReader(input);
  const batch = reader.byte() < 128 ? engine.packets : engine.datagrams;
  const described = 1 + (reader.byte() % TOLD_MAX);
  const keys = sealing.begin();
  batch.count = 0;
  for (let i = 0; i < described; i++) tell(batch, i, reader, keys);
  const capacity = batch === engine.packets ? 64 : described + MORE_MAX;
  const count = Math.min(capacity, described + (reader.byte() % (MORE_MAX + 1)));
  // The second key is removed when so many descriptors have been sealed.
  const cut = Math.min(count, reader.byte());
  for (let i = described; i < count; i++) add(batch, i, reader.byte(), keys);
  engine.open(batch);
  const endpoints = sealing.seal(batch, cut);
  engine.writeTun(batch);
  const outcome = new Set<string>();
  for (let i = 0; i < count; i++) outcome.add(nameOf(markOf(batch, i)));
  batch.count = 0;
  for (const { header, packet } of bench.drain()) {
    assert.equal(header.length, 10);
    assert(packet.length <= 65_535 + 40);
    outcome.add(`written as ${header[1]}`);
  }
  if (endpoints > 1) outcome.add(`to ${endpoints} endpoints`);
  return [...outcome].sort().join(' ');
}

function nameOf(mark: number): string {
  return mark < 0 || mark > MARK_TRUNCATED ? 'odd' : String(mark);
}

/** Marks a descriptor with anything. */
function tell(batch: Batch, i: number, reader: ChoiceReader, keys: readonly SealingKey[]): void {
  const slot = i * SLOT_BYTES;
  const start = slot + SLOT_HEADROOM_BYTES;
  const header = reader.slice(10);
  const bytes = reader.slice(reader.word() % 300);
  batch.bytes.fill(0, slot, start + 1_000);
  batch.bytes.set(header, start - header.length);
  batch.bytes.set(bytes, start);
  // A packet that is mostly a pattern, so that long packets need no long input.
  const length = reader.byte() < 64 ? reader.integer() | 0 : bytes.length + (reader.word() % 4_096);
  const offset = reader.byte() < 64 ? reader.integer() | 0 : start;
  const key = choose(reader.byte(), keys);
  const handle = key ?? { slot: reader.integer() | 0, generation: reader.byte() };
  const address = choose(reader.byte(), AIMED) ?? reader.integer() | 0;
  const mark = reader.byte() < 16 ? reader.integer() | 0 : (marks[reader.byte() % 3] ?? 0);
  setMarks(batch, i, { offset, length, key: handle, address, mark });
}

/** One of a few for most bytes; undefined, which means anything, for the others. */
function choose<T>(byte: number, few: readonly T[]): T | undefined {
  return byte < 64 ? undefined : few[byte % few.length];
}

/** Marks a descriptor with the usual values, as one byte says, mostly for sealing. */
function add(batch: Batch, i: number, byte: number, keys: readonly SealingKey[]): void {
  const offset = (i % 64) * SLOT_BYTES + SLOT_HEADROOM_BYTES + (i >> 6) * PACKET_BYTES;
  const length = LENGTHS[byte >> 5]!;
  batch.bytes.fill(0, offset - 10, offset);
  // The bytes say which packet this is.
  batch.bytes.fill(i, offset, offset + length);
  setMarks(batch, i, {
    offset,
    length,
    key: keys[(byte >> 2) & 1]!,
    // One in four goes to an endpoint where nobody listens.
    address: AIMED[byte & 3] ?? 0,
    mark: ((byte >> 3) & 3) === 3 ? marks[byte & 1]! : MARK_SEAL,
  });
}
