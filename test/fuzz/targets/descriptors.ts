// The native contract: whatever stands in descriptors and arenas, native code reads and writes only
// inside them and refuses the rest. Worth most with an addon that AddressSanitizer watches:
// `npm run sanitize -- node test/fuzz/fuzz.ts descriptors`.

import { strict as assert } from 'node:assert';
import { SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../../../dataplane/constants.ts';
import {
  type Batch,
  type KeyHandle,
  VERDICT_OPEN,
  VERDICT_SEAL,
  VERDICT_TRUNCATED,
  VERDICT_TUN,
} from '../../../dataplane/contract.ts';
import { EVENT_UDP } from '../../../dataplane/native/index.ts';
import { addon, contentOf, mark, NativeBench, TARGET, verdictOf } from '../../support/native.ts';
import { ChoiceReader } from '../reader.ts';

const DESCRIPTORS_MAX = 8;
const verdicts = [VERDICT_OPEN, VERDICT_SEAL, VERDICT_TUN] as const;

let bench: NativeBench | null = null;
let key: KeyHandle = { slot: 0, generation: 0 };

/**
 * Fills a batch with what an input says and lets every bulk operation have it. Returns the
 * verdicts: they tell the fuzzer what coverage of TypeScript cannot, where native code has been.
 */
export function descriptors(input: Uint8Array): string {
  if (addon === null) return '';
  if (bench === null) {
    bench = new NativeBench(addon);
    key = bench.engine.installKey(new Uint8Array(32), new Uint8Array(32), 7) ?? key;
  }
  const { engine } = bench;
  const reader = new ChoiceReader(input);
  const batch = reader.byte() < 128 ? engine.packets : engine.datagrams;
  const count = 1 + (reader.byte() % DESCRIPTORS_MAX);
  batch.count = 0;
  for (let i = 0; i < count; i++) fill(batch, i, reader);
  engine.open(batch);
  engine.seal(batch);
  engine.writeTun(batch);
  const outcome = new Set<string>();
  for (let i = 0; i < count; i++) outcome.add(nameOf(verdictOf(batch, i)));
  batch.count = 0;
  engine.flush();
  // What really left is a whole datagram; nothing else may come out at the far end.
  while ((bench.listener.poll(0) & EVENT_UDP) !== 0) {
    bench.listener.receive();
    const { datagrams } = bench.listener;
    for (let i = 0; i < datagrams.count; i++) assert(contentOf(datagrams, i).length >= 32);
  }
  for (const { header, packet } of bench.drain()) {
    assert.equal(header.length, 10);
    assert(packet.length <= 65_535 + 40);
    outcome.add(`written as ${header[1]}`);
  }
  return [...outcome].sort().join(' ');
}

function nameOf(verdict: number): string {
  return verdict < 0 || verdict > VERDICT_TRUNCATED ? 'odd' : String(verdict);
}

function fill(batch: Batch, i: number, reader: ChoiceReader): void {
  const slot = i * SLOT_BYTES;
  const start = slot + SLOT_HEADROOM_BYTES;
  const header = reader.slice(10);
  const bytes = reader.slice(reader.word() % 300);
  batch.bytes.fill(0, slot, start + 1_000);
  batch.bytes.set(header, start - header.length);
  batch.bytes.set(bytes, start);
  // A packet that is mostly a pattern, so that long ones cost no long input.
  const length = reader.byte() < 64 ? reader.integer() | 0 : bytes.length + (reader.word() % 4_096);
  mark(batch, i, {
    offset: reader.byte() < 64 ? reader.integer() | 0 : start,
    length,
    key: reader.byte() < 64 ? { slot: reader.integer() | 0, generation: reader.byte() } : key,
    address: reader.byte() < 64 ? reader.integer() | 0 : TARGET,
    verdict: reader.byte() < 16 ? reader.integer() | 0 : (verdicts[reader.byte() % 3] ?? 0),
  });
}
