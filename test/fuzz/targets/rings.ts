// The rings between workers: both engines do with the same memory what the other does, and hand over
// whole things in order. Whatever is written over the memory of a ring, as a worker that died in the
// middle of its work might leave it, nothing outside of it is read. That half is worth most with an
// addon that AddressSanitizer watches.

import { strict as assert } from 'node:assert';
import { RING_BYTES, RING_HEADER_BYTES } from '../../../dataplane/constants.ts';
import {
  createSharedMemory,
  DESCRIPTOR_WORDS,
  KIND_FROM_PEER,
  LENGTH,
  OFFSET,
  type PacketEngine,
} from '../../../dataplane/contract.ts';
import { addon } from '../../support/dataplane/native.ts';
import {
  contents,
  type EngineKind,
  type Handed,
  handOver,
  openTeam,
} from '../../support/dataplane/team.ts';
import { ChoiceReader } from '../reader.ts';

/** A worker writes to another one; `seen` is what came out, and what found no room. */
class Pair {
  readonly memory = createSharedMemory(2);
  readonly from: PacketEngine;
  readonly to: PacketEngine;
  readonly seen: string[] = [];
  isScribbled = false;
  #isTaken = false;

  constructor(kind: EngineKind) {
    const [from, to] = openTeam([kind, kind], this.memory);
    this.from = from!;
    this.to = to!;
  }

  give(handed: Handed, worker: number): void {
    const lost = handOver(this.from, worker, [handed]);
    if (lost > 0) this.seen.push(`${handed.bytes.length} to ${worker} lost`);
  }

  take(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.to.takeHanded(0);
    const batch = this.to.handed[0]!;
    for (let i = 0; i < batch.count; i++) {
      const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
      const length = batch.descriptors[i * DESCRIPTOR_WORDS + LENGTH]!;
      assert(offset >= RING_HEADER_BYTES && length >= 0, `${offset}, ${length}`);
      assert(offset + length <= RING_HEADER_BYTES + RING_BYTES, `${offset}, ${length}`);
    }
    if (!this.isScribbled)
      for (const { kind, peer, generation, bytes } of contents(batch))
        this.seen.push([kind, peer, generation, bytes.length, bytes[0], bytes.at(-1)].join());
  }

  free(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.to.freeHanded(0);
  }

  /** Writes over words of the ring, at its header or anywhere. */
  scribble(place: number, word: number): void {
    this.isScribbled = true;
    const words = new Int32Array(this.memory.rings[0]![1]!);
    words[place % words.length] = word;
  }
}

/** Gives, takes and frees as the input says, with both engines. */
export function rings(input: Uint8Array): string {
  if (addon === null) return '';
  const pairs = (['native', 'typescript'] as const).map((kind) => new Pair(kind));
  const reader = new ChoiceReader(input);
  for (let number = 0; !reader.isAtEnd && number < 2_000; number++) {
    const act = reader.byte();
    if (act < 40) for (const pair of pairs) pair.take();
    else if (act < 80) for (const pair of pairs) pair.free();
    else if (act < 84) {
      // One in two hits the header, where the counters are.
      const place = reader.byte() < 128 ? reader.byte() % 32 : reader.integer() >>> 0;
      const word = reader.integer() | 0;
      for (const pair of pairs) pair.scribble(place, word);
    } else {
      const length = act < 100 ? 60_000 + (reader.word() % 6_000) : reader.word() % 2_000;
      const bytes = new Uint8Array(length).fill(number & 0xff);
      const worker = act < 250 ? 1 : reader.byte() - 128;
      const generation = reader.byte();
      for (const pair of pairs)
        pair.give({ kind: KIND_FROM_PEER, bytes, peer: number, generation }, worker);
    }
  }
  for (const pair of pairs) {
    pair.free();
    pair.take();
  }
  const [native, twin] = pairs;
  if (!native!.isScribbled) assert.deepEqual(native!.seen, twin!.seen);
  return `${native!.isScribbled} ${Math.min(native!.seen.length, 8)} ${native!.seen.some((line) => line.includes('lost'))}`;
}
