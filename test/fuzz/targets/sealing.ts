// What is true of `seal` for every input: it touches only descriptors that ask for it, uses a
// counter once, and its datagrams come to each endpoint in the order of their descriptors.

import { strict as assert } from 'node:assert';
import {
  ADDRESS,
  type Batch,
  DATAGRAMS,
  DESCRIPTOR_WORDS,
  GENERATION,
  KEY,
  type KeyHandle,
  LENGTH,
  OFFSET,
  MARK,
  MARK_OPEN,
  MARK_OPENED,
  MARK_SEAL,
  MARK_SEAL_EXHAUSTED,
  MARK_SEAL_INVALID,
  MARK_SEALED,
  MARK_SEALED_REKEY,
} from '../../../dataplane/contract.ts';
import { type Addon, EVENT_UDP } from '../../../dataplane/native/index.ts';
import { endpoint, ENDPOINT_BYTES } from '../../../dataplane/wire/address.ts';
import { setMarks, NativeBench, TARGET, markOf } from '../../support/dataplane/native.ts';
import { viewOf } from '../../support/dataplane/packets.ts';

/** Endpoint slots with a listener behind them. */
export const AIMED: readonly number[] = [TARGET, TARGET + 1, TARGET + 2];
const ENDPOINTS = 128;
const REKEY_AFTER = 40;
/** So few that an input reaches the limit of a key, also in the middle of a super-packet. */
const REJECT_AFTER = 90;
/** Bytes, in as many datagrams as two keys seal, that the receive buffer takes without loss. */
const SURE_BYTES = 128 * 1024;
/** How long the test waits for what is sure to arrive, and for what may be lost. */
const SURE_MS = 500;
const UNSURE_MS = 20;

const sealedMarks: readonly number[] = [MARK_SEALED, MARK_SEALED_REKEY];
const refusedMarks: readonly number[] = [MARK_SEAL_EXHAUSTED, MARK_SEAL_INVALID];

/** A key by which an input seals. */
export interface SealingKey extends KeyHandle {
  /** Part of its datagrams; never the same twice. */
  readonly index: number;
  /** The key that the listener opens them with. */
  readonly opens: KeyHandle;
  /** The number of datagrams that it made, as the descriptors say. */
  announced: number;
  /** Counters that arrived. */
  readonly counters: Set<number>;
}

/** A datagram at the listener. */
interface Arrival {
  readonly key: SealingKey;
  readonly counter: number;
  readonly wireBytes: number;
  readonly plain: Uint8Array;
}

/** What a descriptor asks `seal` for. */
interface Wish {
  readonly i: number;
  readonly words: Int32Array;
  /** A copy of the packet from before the call. */
  readonly plain: Uint8Array;
}

/** An engine that seals, another that listens at three addresses, and two keys of an input. */
export class Sealing {
  readonly bench: NativeBench;
  #keys: SealingKey[] = [];
  /** Keys whose datagrams may arrive; older ones are from inputs before this one. */
  #firstIndex = 0;
  #nextIndex = 0;

  constructor(native: Addon) {
    const limits = { rekeyAfterMessages: REKEY_AFTER, rejectAfterMessages: REJECT_AFTER };
    this.bench = new NativeBench(native, limits);
    const port = native.boundPort(this.bench.listeningSocket);
    for (const [n, slot] of AIMED.entries()) this.bench.aim(slot, port, `127.0.0.${n + 1}`);
  }

  /** Installs the keys of an input. */
  begin(): readonly SealingKey[] {
    const { engine, listener } = this.bench;
    for (const key of this.#keys) {
      engine.removeKey(key.slot, key.generation);
      listener.removeKey(key.opens.slot, key.opens.generation);
    }
    this.#firstIndex = this.#nextIndex;
    this.#keys = [1, 2].map((fill) => {
      const bytes = new Uint8Array(32).fill(fill);
      const index = this.#nextIndex++;
      const handle = engine.installKey(bytes, bytes, index)!;
      const opens = listener.installKey(bytes, bytes, index)!;
      return { ...handle, index, opens, announced: 0, counters: new Set<number>() };
    });
    return this.#keys;
  }

  /**
   * Seals the descriptors before `cut`, removes the second key, and seals the others. Returns how
   * many endpoints got something.
   */
  seal(batch: Batch, cut: number): number {
    const { count } = batch;
    const [first, second] = this.#keys as [SealingKey, SealingKey];
    const before = this.#sealPart(batch, 0, cut);
    this.#assertCounter(batch, second);
    this.bench.engine.removeKey(second.slot, second.generation);
    const announced = second.announced;
    const after = this.#sealPart(batch, cut, count);
    assert.equal(second.announced, announced, 'a key that is gone seals nothing');
    this.#assertCounter(batch, first);
    return new Set([...before, ...after]).size;
  }

  /** Seals the descriptors from `start` to `end`, all before being done with. */
  #sealPart(batch: Batch, start: number, end: number): Set<number> {
    const all = batch.descriptors;
    const behind = batch.count * DESCRIPTOR_WORDS;
    const words = all.slice(0, behind);
    const wishes: Wish[] = [];
    for (let i = start; i < end; i++) {
      if (markOf(batch, i) !== MARK_SEAL) continue;
      const at = i * DESCRIPTOR_WORDS;
      const [offset, length] = [words[at + OFFSET]!, words[at + LENGTH]!];
      const isInside = offset >= 0 && length >= 0 && offset + length <= batch.bytes.length;
      const plain = batch.bytes.slice(isInside ? offset : 0, isInside ? offset + length : 0);
      wishes.push({ i, words: words.subarray(at, at + DESCRIPTOR_WORDS), plain });
    }
    const { count } = batch;
    batch.count = end;
    this.bench.engine.seal(batch);
    batch.count = count;
    const asked = new Set(wishes.map(({ i }) => i));
    for (let at = 0; at < behind; at++)
      if (!asked.has(Math.floor(at / DESCRIPTOR_WORDS)) && all[at] !== words[at])
        assert.fail(`word ${at} of the descriptors was not to be touched`);
    for (const wish of wishes) this.#assertMark(batch, wish);
    return this.#assertArrivals(batch, wishes);
  }

  #assertMark(batch: Batch, { i, words }: Wish): void {
    const mark = markOf(batch, i);
    const made = batch.descriptors[i * DESCRIPTOR_WORDS + DATAGRAMS]!;
    const address = words[ADDRESS]!;
    const key = this.#keyOf(words);
    if (sealedMarks.includes(mark)) assert(made > 0, `${i} is sealed, and in nothing`);
    else assert(refusedMarks.includes(mark), `${i} has mark ${mark}`);
    if (mark === MARK_SEAL_INVALID) assert.equal(made, 0);
    if (address < 0 || address >= ENDPOINTS) assert.equal(mark, MARK_SEAL_INVALID);
    if (key === undefined) assert.equal(made, 0);
    else key.announced += made;
  }

  /**
   * Checks that the arrived datagrams are those of the descriptors, for each endpoint; returns the
   * endpoints.
   */
  #assertArrivals(batch: Batch, wishes: readonly Wish[]): Set<number> {
    const d = batch.descriptors;
    const word = (i: number, which: number): number => d[i * DESCRIPTOR_WORDS + which]!;
    const aimed = wishes.filter(
      ({ i, words }) => AIMED.includes(words[ADDRESS]!) && word(i, DATAGRAMS) > 0,
    );
    const datagrams = aimed.reduce((sum, { i }) => sum + word(i, DATAGRAMS), 0);
    const bytes = aimed.reduce((sum, { i }) => sum + word(i, LENGTH), 0);
    const isSure = bytes <= SURE_BYTES;
    const arrivals = this.#arrivals(datagrams, isSure ? SURE_MS : UNSURE_MS);
    for (const [n, slot] of AIMED.entries()) {
      const came = arrivals[n]!;
      const latest = new Map<SealingKey, number>();
      for (const { key, counter } of came) {
        assert(counter > (latest.get(key) ?? -1), `${counter} came late to endpoint ${n}`);
        latest.set(key, counter);
      }
      // A full buffer loses some; nobody knows of which endpoint.
      if (!isSure) continue;
      for (const { i, words, plain } of aimed.filter((wish) => wish.words[ADDRESS] === slot)) {
        const own = came.splice(0, word(i, DATAGRAMS));
        assert.equal(own.length, word(i, DATAGRAMS), `${i} arrives whole`);
        for (const { key } of own) assert.equal(key, this.#keyOf(words), `${i} with its key`);
        const wire = own.reduce((sum, { wireBytes }) => sum + wireBytes, 0);
        assert.equal(wire, word(i, LENGTH), `${i} in its place`);
        if (batch === this.bench.engine.datagrams) assertPadded(own[0]!.plain, plain);
      }
      assert.equal(came.length, 0, 'nothing arrives that nothing asked for');
    }
    return new Set(aimed.map(({ words }) => words[ADDRESS]!));
  }

  /** Takes what arrives, and opens it; by number of endpoint. */
  #arrivals(wanted: number, waitMs: number): Arrival[][] {
    const { engine, listener } = this.bench;
    const arrivals: Arrival[][] = AIMED.map(() => []);
    engine.flush();
    // Loopback delivers at once, except on a busy machine.
    for (let got = 0; ;) {
      if ((listener.poll(got < wanted ? waitMs : 0) & EVENT_UDP) === 0) return arrivals;
      listener.receive();
      const batch = listener.datagrams;
      for (let i = 0; i < batch.count; i++) {
        const address = batch.descriptors[i * DESCRIPTOR_WORDS + ADDRESS]!;
        const local = address * ENDPOINT_BYTES + endpoint.local;
        const arrival = this.#open(batch, i);
        if (arrival === null) continue;
        arrivals[listener.endpoints.bytes[local + 3]! - 1]!.push(arrival);
        got++;
      }
    }
  }

  /** Opens a datagram that arrived; null for one of an input before. */
  #open(batch: Batch, i: number): Arrival | null {
    const at = i * DESCRIPTOR_WORDS;
    const d = batch.descriptors;
    const [offset, wireBytes] = [d[at + OFFSET]!, d[at + LENGTH]!];
    assert(wireBytes >= 32);
    const message = viewOf(batch.bytes.subarray(offset, offset + 16));
    assert.equal(message.getUint32(0, true), 4);
    const index = message.getUint32(4, true);
    if (index < this.#firstIndex) return null;
    const key = this.#keys.find((one) => one.index === index)!;
    const counter = Number(message.getBigUint64(8, true));
    assert(!key.counters.has(counter), `counter ${counter} is used twice`);
    key.counters.add(counter);
    const { count } = batch;
    d[at + KEY] = key.opens.slot;
    d[at + GENERATION] = key.opens.generation;
    d[at + MARK] = MARK_OPEN;
    batch.count = i + 1;
    this.bench.listener.open(batch);
    batch.count = count;
    assert.equal(d[at + MARK], MARK_OPENED, 'what leaves can be opened');
    const inner = d[at + OFFSET]!;
    return { key, counter, wireBytes, plain: batch.bytes.slice(inner, inner + d[at + LENGTH]!) };
  }

  #keyOf(words: Int32Array): SealingKey | undefined {
    return this.#keys.find(
      ({ slot, generation }) => slot === words[KEY] && generation === words[GENERATION],
    );
  }

  /** The next counter of a key is the number of datagrams that descriptors say it made. */
  #assertCounter(busy: Batch, key: SealingKey): void {
    const { engine } = this.bench;
    const batch = busy === engine.packets ? engine.datagrams : engine.packets;
    assert(key.announced <= REJECT_AFTER);
    setMarks(batch, 0, { mark: MARK_SEAL, key, offset: 64, address: AIMED[0]! });
    batch.count = 1;
    engine.seal(batch);
    batch.count = 0;
    if (key.announced === REJECT_AFTER) {
      assert.equal(markOf(batch, 0), MARK_SEAL_EXHAUSTED);
      return;
    }
    const probe = this.#arrivals(1, SURE_MS)[0]!.at(-1);
    assert.equal(probe?.key, key);
    assert.equal(probe?.counter, key.announced);
  }
}

/** A packet is sealed as it was, with zeros after it. */
function assertPadded(opened: Uint8Array, plain: Uint8Array): void {
  assert(opened.length >= plain.length && opened.length < plain.length + 16);
  assert.deepEqual(opened.subarray(0, plain.length), plain);
  assert(opened.subarray(plain.length).every((byte) => byte === 0));
}
