// A collector of fragments beside its slow twin: both take the same fragments, and a difference
// throws.

import { strict as assert } from 'node:assert';
import { FRAGMENT_CELL_BYTES } from '../../../dataplane/constants.ts';
import { FragmentCollector } from '../../../dataplane/filter/collector.ts';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import { findFragmentError, hasMore } from '../../../dataplane/wire/fragment.ts';
import { InnerPacket, parseInner, WHOLE } from '../../../dataplane/wire/ip.ts';
import { viewOf } from '../dataplane/packets.ts';
import { seededRandom } from '../dataplane/simulation.ts';
import { SlowCollector, type SlowLoss } from './slow-collector.ts';

/** What became of a fragment. */
export type Taken = ReasonName | 'kept' | 'complete' | 'whole';

/** What tells datagrams of one owner apart, as their receiver sees it. */
export function keyOf(packet: InnerPacket): string {
  const { version, protocol, identification } = packet;
  const names = ['source', 'destination'].flatMap((end) =>
    [0, 1, 2, 3].map((i) => packet[`${end}${i}` as 'source0']),
  );
  return [version, version === 4 ? protocol : '', identification, ...names].join();
}

/** A collector alone. */
export class Collecting {
  readonly collector: FragmentCollector;
  /** What was given up, in order. */
  readonly losses: SlowLoss[] = [];
  readonly #packet = new InnerPacket();
  /** The fragments of the datagram that was complete last, in order. */
  complete: Uint8Array[] = [];
  now = 1_000;

  constructor(owners = 64) {
    this.collector = new FragmentCollector({
      random: seededRandom(1),
      owners,
      lose: (datagram, reason) =>
        this.losses.push({ key: this.#keyOf(datagram), reason: reasonNames[reason]! }),
    });
    this.collector.begin(this.now);
  }

  /** Takes a packet as the packet path does. */
  take(bytes: Uint8Array, owner = 0): Taken {
    const packet = this.#packet;
    const view = viewOf(bytes);
    const unreadable = parseInner(view, 0, bytes.length, packet);
    if (unreadable !== reasons.none) return reasonNames[unreadable]!;
    if (packet.fragment === WHOLE) return 'whole';
    const error = findFragmentError(view, 0, packet);
    if (error !== reasons.none) return reasonNames[error]!;
    const datagram = this.collector.take(view, 0, packet, owner);
    if (datagram === 0) return 'kept';
    this.complete = this.#piecesOf(datagram);
    this.collector.remove(datagram);
    return 'complete';
  }

  /** Lets time pass. */
  wait(ms: number): void {
    this.now += ms;
    this.collector.begin(this.now);
  }

  #piecesOf(datagram: number): Uint8Array[] {
    const { collector } = this;
    const pieces: Uint8Array[] = [];
    for (let piece = collector.firstOf(datagram); piece !== 0; piece = collector.after(piece)) {
      const bytes = new Uint8Array(collector.lengthOf(piece));
      collector.copy(piece, 0, bytes.length, bytes, 0);
      pieces.push(bytes);
    }
    return pieces;
  }

  #keyOf(datagram: number): string {
    const [first = new Uint8Array()] = this.#piecesOf(datagram);
    const packet = new InnerPacket();
    parseInner(viewOf(first), 0, first.length, packet);
    return keyOf(packet);
  }
}

/** A collector and its twin. */
export class CollectingPair {
  readonly real: Collecting;
  readonly slow = new SlowCollector();
  readonly #owners: number;

  constructor(owners: number) {
    this.#owners = owners;
    this.real = new Collecting(owners);
    this.slow.begin(this.real.now);
  }

  /** Gives both a packet. */
  take(bytes: Uint8Array, owner: number): Taken {
    const packet = new InnerPacket();
    const view = viewOf(bytes);
    const taken = this.real.take(bytes, owner);
    if (taken !== 'kept' && taken !== 'complete') return taken;
    parseInner(view, 0, bytes.length, packet);
    const wanted = this.slow.take({
      owner,
      key: keyOf(packet),
      family: packet.version as 4 | 6,
      start: packet.fragmentOffset * 8,
      payload: bytes.slice(packet.fragmentedAt, packet.length),
      isLast: !hasMore(view, 0, packet),
      bytes: bytes.slice(0, packet.length),
    });
    assert.equal(taken, wanted === null ? 'kept' : 'complete');
    if (wanted !== null) assert.deepEqual(this.real.complete, wanted);
    this.#compare();
    return taken;
  }

  /** Lets time pass for both. */
  wait(ms: number): void {
    this.real.wait(ms);
    this.slow.begin(this.real.now);
    this.#compare();
  }

  /** Both forget an owner. */
  forget(owner: number): void {
    this.real.collector.forget(owner);
    this.slow.forget(owner);
    this.#compare();
  }

  #compare(): void {
    assert.deepEqual(this.real.losses.splice(0), this.slow.losses.splice(0));
    for (let owner = 0; owner < this.#owners; owner++)
      assert.equal(
        this.real.collector.heldBy(owner),
        this.slow.held(owner) * FRAGMENT_CELL_BYTES,
        `owner ${owner}`,
      );
    const next = Math.min(...this.slow.datagrams.map(({ endsAt }) => endsAt));
    assert.equal(this.real.collector.nextDeadline, next);
  }
}
