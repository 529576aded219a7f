// The rings between workers in TypeScript. Byte for byte, they have the form that native/ring.h
// describes: both engines pass the same tests, and each reads what the other wrote. Gateways in
// memory use them. Where sockets are real, only the native engine has several workers.

import { HANDED_PER_TURN, PADDING_BYTES, RING_HEADER_BYTES } from '../constants.ts';
import {
  ADDRESS,
  type Batch,
  createHandedBatches,
  DESCRIPTOR_WORDS,
  GENERATION,
  KEY,
  KIND,
  KIND_FROM_PEER,
  KIND_FROM_TUN,
  LENGTH,
  MARK,
  MARK_DROP,
  MARK_HAND_OVER,
  OFFSET,
  type Team,
  WORKER,
} from '../contract.ts';
import { ENDPOINT_BYTES, type EndpointTable } from '../wire/address.ts';
import { VIRTIO_HEADER_BYTES } from '../wire/virtio.ts';

/** Words of the header of a ring: how many bytes were written, and read, since it was made. */
const WRITTEN = 0;
const READ = RING_HEADER_BYTES / 2 / 4;

/** Words of a record; its endpoint and its bytes follow. */
const record = { bytes: 0, kind: 1, length: 2, peer: 3, generation: 4 } as const;
const RECORD_HEADER_BYTES = 64;
const RECORD_BYTES = RECORD_HEADER_BYTES + ENDPOINT_BYTES;
const RECORD_ALIGNMENT = 64;
const RECORD_LENGTH_MAX = 65_536;
const KIND_FILLER = -1;

/** Bytes after which a batch is full. */
const BATCH_BYTES = 512 * 1024;

/** One end of a ring. */
interface End {
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
  /** How far this end has written or read. */
  at: number;
}

/** All rings of one worker. */
export class Rings {
  /** By worker: what it handed over; null for this worker itself. */
  readonly handed: readonly (Batch | null)[];
  readonly #readers: readonly (End | null)[];
  readonly #writers: readonly (End | null)[];
  readonly #endpoints: EndpointTable;
  readonly #handedEndpoints: number;

  /** What was written for this worker before is forgotten. `handedEndpoints`: the first slot. */
  constructor(team: Team, endpoints: EndpointTable, handedEndpoints: number) {
    const { self, memory } = team;
    this.handed = createHandedBatches(team);
    this.#endpoints = endpoints;
    this.#handedEndpoints = handedEndpoints;
    this.#readers = (memory?.rings ?? []).map((of) => endOf(of[self]!));
    this.#writers = (memory?.rings[self] ?? []).map(endOf);
    for (const reader of this.#readers) if (reader !== null) giveBack(reader);
  }

  /** Writes what is marked MARK_HAND_OVER; returns how much found no room. */
  handOver(batch: Batch): number {
    const d = batch.descriptors;
    let lost = 0;
    for (let at = 0; at < batch.count * DESCRIPTOR_WORDS; at += DESCRIPTOR_WORDS) {
      if (d[at + MARK] !== MARK_HAND_OVER) continue;
      d[at + MARK] = MARK_DROP;
      if (!this.#write(batch, at)) lost++;
    }
    for (const writer of this.#writers)
      if (writer !== null) Atomics.store(writer.words, WRITTEN, writer.at);
    return lost;
  }

  #write({ bytes, descriptors: d }: Batch, at: number): boolean {
    const ring = this.#writers[d[at + WORKER]!] ?? null;
    const length = d[at + LENGTH]!;
    if (ring === null || length < 0 || length > RECORD_LENGTH_MAX) return false;
    const size = aligned(RECORD_BYTES + length + PADDING_BYTES);
    const start = reserve(ring, size);
    if (start === -1) return false;
    const kind = d[at + KIND]!;
    const word = start >> 2;
    ring.words[word + record.bytes] = size;
    ring.words[word + record.kind] = kind;
    ring.words[word + record.length] = length;
    ring.words[word + record.peer] = d[at + KEY]!;
    ring.words[word + record.generation] = d[at + GENERATION]!;
    const offset = d[at + OFFSET]!;
    const packet = start + RECORD_BYTES;
    const header = packet - VIRTIO_HEADER_BYTES;
    if (kind === KIND_FROM_TUN)
      ring.bytes.set(bytes.subarray(offset - VIRTIO_HEADER_BYTES, offset), header);
    else if (kind === KIND_FROM_PEER) ring.bytes.fill(0, header, packet);
    else ring.bytes.set(this.#endpoint(d[at + ADDRESS]!), start + RECORD_HEADER_BYTES);
    ring.bytes.set(bytes.subarray(offset, offset + length), packet);
    ring.at = (ring.at + size) | 0;
    return true;
  }

  /** Describes what `worker` handed over, in its batch. */
  take(worker: number): void {
    const ring = this.#readerOf(worker);
    const batch = this.handed[worker]!;
    const d = batch.descriptors;
    const written = writtenFor(ring);
    let total = 0;
    while (ring.at !== written && batch.count < HANDED_PER_TURN && total < BATCH_BYTES) {
      const start = startOf(ring!);
      const word = start >> 2;
      const size = ring.words[word + record.bytes]! >>> 0;
      if (!isPossible(ring!, size, (written - ring.at) >>> 0, start)) {
        ring.at = written;
        break;
      }
      const kind = ring.words[word + record.kind]!;
      const length = ring.words[word + record.length]! >>> 0;
      ring.at = (ring.at + size) | 0;
      if (kind === KIND_FILLER || length > size - RECORD_BYTES - PADDING_BYTES) continue;
      const slot = this.#handedEndpoints + worker * HANDED_PER_TURN + batch.count;
      const at = batch.count++ * DESCRIPTOR_WORDS;
      d[at + OFFSET] = start + RECORD_BYTES;
      d[at + LENGTH] = length;
      d[at + KEY] = ring.words[word + record.peer]!;
      d[at + GENERATION] = ring.words[word + record.generation]!;
      d[at + MARK] = MARK_DROP;
      d[at + KIND] = kind;
      d[at + WORKER] = worker;
      d[at + ADDRESS] = slot;
      const sender = start + RECORD_HEADER_BYTES;
      this.#endpoint(slot).set(ring.bytes.subarray(sender, sender + ENDPOINT_BYTES));
      total += size;
    }
  }

  /** Gives the memory of what was taken back to `worker`. */
  free(worker: number): void {
    this.handed[worker]!.count = 0;
    giveBack(this.#readerOf(worker));
  }

  /** Whether another worker has handed over packets that were not taken yet. */
  get hasNews(): boolean {
    return this.#readers.some((ring) => ring !== null && writtenFor(ring) !== ring.at);
  }

  #readerOf(worker: number): End {
    const reader = this.#readers[worker] ?? null;
    if (reader === null) throw new RangeError(`no ring comes from worker ${worker}`);
    return reader;
  }

  #endpoint(slot: number): Uint8Array {
    return this.#endpoints.bytes.subarray(slot * ENDPOINT_BYTES, (slot + 1) * ENDPOINT_BYTES);
  }
}

/** An end that begins behind everything that was written. */
function endOf(memory: SharedArrayBuffer | null): End | null {
  if (memory === null) return null;
  const words = new Int32Array(memory);
  return { words, bytes: new Uint8Array(memory), at: writtenFor({ words }) };
}

function giveBack(reader: End): void {
  Atomics.store(reader.words, READ, reader.at);
}

/** How far the writer has come; a record begins at no other place. */
function writtenFor({ words }: Pick<End, 'words'>): number {
  return Atomics.load(words, WRITTEN) & ~(RECORD_ALIGNMENT - 1);
}

/** Whether a record at `start` may have a size, where `written` bytes were written in all. */
function isPossible(ring: End, size: number, written: number, start: number): boolean {
  const rest = RING_HEADER_BYTES + roomOf(ring) - start;
  return size > 0 && size % RECORD_ALIGNMENT === 0 && size <= written && size <= rest;
}

/** Where the next record begins, in bytes of the memory. */
function startOf(ring: End): number {
  return RING_HEADER_BYTES + ((ring.at >>> 0) % roomOf(ring));
}

/** Bytes of a ring without its header. */
function roomOf({ bytes }: End): number {
  return bytes.length - RING_HEADER_BYTES;
}

/** Makes room for a record in one piece: where it begins, or -1. */
function reserve(ring: End, size: number): number {
  const room = roomOf(ring);
  const rest = room - ((ring.at >>> 0) % room);
  const filler = rest < size ? rest : 0;
  const used = (ring.at - Atomics.load(ring.words, READ)) >>> 0;
  if (used + filler + size > room) return -1;
  if (filler > 0) {
    const word = startOf(ring) >> 2;
    ring.words[word + record.bytes] = filler;
    ring.words[word + record.kind] = KIND_FILLER;
    ring.at = (ring.at + filler) | 0;
  }
  return startOf(ring);
}

function aligned(bytes: number): number {
  return (bytes + RECORD_ALIGNMENT - 1) & ~(RECORD_ALIGNMENT - 1);
}
