// A second collector of fragments, slow and simple: what docs/packets.md says, with lists and
// objects. Random courses compare the real one with it.

import type { ReasonName } from '../../../dataplane/reasons.ts';

const CELL_BYTES = 512;
const SHARE_CELLS = (256 * 1024) / CELL_BYTES;
const POOL_CELLS = (4 * 1024 * 1024) / CELL_BYTES;
const APART = 256;

/** A fragment as the twin knows it. */
export interface SlowFragment {
  readonly owner: number;
  /** What tells datagrams of an owner apart. */
  readonly key: string;
  readonly family: 4 | 6;
  readonly start: number;
  readonly payload: Uint8Array;
  readonly isLast: boolean;
  /** Bytes with all headers. */
  readonly bytes: Uint8Array;
}

interface SlowDatagram {
  readonly owner: number;
  readonly key: string;
  readonly endsAt: number;
  readonly family: 4 | 6;
  readonly pieces: SlowFragment[];
  /** How many fragments of its owner had come with its last one. */
  count: number;
}

/** A datagram that was given up. */
export interface SlowLoss {
  readonly key: string;
  readonly reason: ReasonName;
}

function cellsOf({ bytes }: SlowFragment): number {
  return Math.ceil(bytes.length / CELL_BYTES);
}

function endOf({ start, payload }: SlowFragment): number {
  return start + payload.length;
}

/** Collects fragments. */
export class SlowCollector {
  /** The oldest one first. */
  datagrams: SlowDatagram[] = [];
  losses: SlowLoss[] = [];
  now = 0;
  /** By owner: how often anything had changed when its cells changed last. */
  readonly #changed = new Map<number, number>();
  #changes = 0;
  /** By owner: the fragments that have come. */
  readonly #counts = new Map<number, number>();

  /** Sets the time. */
  begin(now: number): void {
    this.now = now;
    for (const family of [4, 6])
      for (const one of this.datagrams.filter((each) => each.family === family))
        if (one.endsAt <= now) this.#lose(one, 'inner_fragments_expired');
  }

  /** Cells of an owner; of all where it is left out. */
  held(owner?: number): number {
    return this.datagrams
      .filter((one) => owner === undefined || one.owner === owner)
      .reduce((sum, { pieces }) => sum + pieces.reduce((all, one) => all + cellsOf(one), 0), 0);
  }

  /** Forgets an owner. */
  forget(owner: number): void {
    this.datagrams = this.datagrams.filter((one) => one.owner !== owner);
  }

  /** Takes a fragment; returns the fragments of the datagram that it completes, in order. */
  take(fragment: SlowFragment): readonly Uint8Array[] | null {
    const { owner, key, start, isLast } = fragment;
    let known = this.datagrams.find((one) => one.owner === owner && one.key === key);
    const end = endOf(fragment);
    const count = (this.#counts.get(owner) ?? 0) + 1;
    this.#counts.set(owner, count);
    if (known !== undefined && known.family === 4 && count - known.count > APART) {
      this.#lose(known, 'inner_fragments_expired');
      known = undefined;
    }
    if (known !== undefined) {
      known.count = count;
      const over = known.pieces.filter((one) => one.start < end && endOf(one) > start);
      if (over.length === 1 && over[0]!.start === start && endOf(over[0]!) === end)
        if (Buffer.compare(over[0]!.payload, fragment.payload) === 0) return null;
      if (over.length > 0) return this.#lose(known, 'inner_fragment_unsafe');
      const last = known.pieces.find((one) => one.isLast);
      const isContrary =
        last === undefined
          ? isLast && known.pieces.some((one) => endOf(one) > end)
          : isLast || end > endOf(last);
      if (isContrary) return this.#lose(known, 'inner_fragment_malformed');
    }
    const cells = cellsOf(fragment);
    const spared = this.#completes(known, fragment) ? known : undefined;
    const oldestOf = (who: number): SlowDatagram => {
      const all = this.datagrams.filter((one) => one.owner === who);
      return all.find((one) => one !== spared) ?? all[0]!;
    };
    while (this.held(owner) + cells > SHARE_CELLS) {
      const oldest = oldestOf(owner);
      this.#lose(oldest, 'inner_fragments_share');
      if (oldest === known) return null;
    }
    while (this.held() + cells > POOL_CELLS) {
      const oldest = oldestOf(this.#greediest());
      this.#lose(oldest, 'inner_fragments_full');
      if (oldest === known) return null;
    }
    if (known === undefined) {
      const endsAt = this.now + (fragment.family === 4 ? 30_000 : 60_000);
      known = { owner, key, endsAt, family: fragment.family, pieces: [], count };
      this.datagrams.push(known);
    }
    known.pieces.push(fragment);
    known.pieces.sort((a, b) => a.start - b.start);
    this.#note(owner);
    const covered = known.pieces.reduce((sum, { payload }) => sum + payload.length, 0);
    const last = known.pieces.find((one) => one.isLast);
    if (last === undefined || covered !== endOf(last)) return null;
    this.#remove(known);
    return known.pieces.map(({ bytes }) => bytes);
  }

  #completes(known: SlowDatagram | undefined, fragment: SlowFragment): boolean {
    if (known === undefined) return false;
    const pieces = [...known.pieces, fragment];
    const last = pieces.find((one) => one.isLast);
    const covered = pieces.reduce((sum, { payload }) => sum + payload.length, 0);
    return last !== undefined && covered === endOf(last);
  }

  /** Of those that hold most the one whose cells have been so many for longest. */
  #greediest(): number {
    const owners = [...new Set(this.datagrams.map(({ owner }) => owner))];
    const most = Math.max(...owners.map((owner) => this.held(owner)));
    return owners
      .filter((owner) => this.held(owner) === most)
      .toSorted((a, b) => this.#changed.get(a)! - this.#changed.get(b)!)[0]!;
  }

  #lose(datagram: SlowDatagram, reason: ReasonName): null {
    this.losses.push({ key: datagram.key, reason });
    this.#remove(datagram);
    return null;
  }

  #remove(datagram: SlowDatagram): void {
    this.datagrams.splice(this.datagrams.indexOf(datagram), 1);
    this.#note(datagram.owner);
  }

  #note(owner: number): void {
    this.#changed.set(owner, ++this.#changes);
  }
}
