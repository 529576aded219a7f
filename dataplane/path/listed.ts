// What lists of flows and of refused packets have in common: which devices are asked for, addresses
// as text, and the parts in which a worker answers, so that packets need not wait for a whole list.

import type { Tracker } from '../filter/tracker.ts';
import { formatAddress } from '../wire/address.ts';
import { PROTOCOL_TCP, PROTOCOL_UDP } from '../wire/ip.ts';
import { isOwn, type Tunnel } from '../wireguard/tunnel.ts';

/** Which devices are asked for; null does not matter. */
export interface DeviceQuery {
  /** The public key of the device. */
  readonly device: string | null;
  /** The name of its scope, which is its owner. */
  readonly scope: string | null;
}

/** A part of a list. */
export interface Listed<T> {
  readonly found: readonly T[];
  /** Where the next part begins; null: this is the last one. */
  readonly next: number | null;
}

/** What lists are read from. */
export interface ListedFrom {
  readonly tracker: Tracker;
  readonly tunnel: Pick<Tunnel, 'known' | 'atSlot'>;
}

/** Finds devices for a list. */
export class ListedDevices {
  readonly #tracker: Pick<Tracker, 'scopeOf'>;
  readonly #tunnel: ListedFrom['tunnel'];

  constructor({ tracker, tunnel }: ListedFrom) {
    this.#tracker = tracker;
    this.#tunnel = tunnel;
  }

  /** Whether nobody can be asked for, because no device has that key. */
  isNobody({ device }: DeviceQuery): boolean {
    return device !== null && this.#tunnel.known(device) === undefined;
  }

  /** Says of the slot of a device whether it is asked for; a slot below 0 is that of no device. */
  asked({ device, scope }: DeviceQuery): (slot: number) => boolean {
    const wanted = device === null ? null : this.#tunnel.known(device)?.slot;
    return (slot) =>
      (wanted === null || slot === wanted) &&
      (scope === null || this.#tracker.scopeOf(slot) === scope);
  }

  /** The public key of a device; null: there is none. */
  keyOf(slot: number): string | null {
    return slot < 0 ? null : (this.#tunnel.atSlot(slot)?.id ?? null);
  }

  /** Whether a device belongs to this worker, and its latest handshake was with this gateway. */
  isHere(slot: number): boolean {
    const peer = slot < 0 ? null : this.#tunnel.atSlot(slot);
    return peer !== null && isOwn(peer) && !peer.isElsewhere;
  }
}

/**
 * Unix time of times on the clock of the packet path. Their difference is kept, or a time would be
 * another one each time it is read: wall time has whole milliseconds, and a thread may lose its
 * processor after it has read one of the clocks.
 */
export class WallTimes {
  #difference = Number.NaN;

  /** Sets what both clocks show at one moment. */
  begin(now: number, wallMs: number): void {
    const difference = wallMs - now;
    if (!(Math.abs(difference - this.#difference) < WALL_SWING_MS)) this.#difference = difference;
  }

  /** The Unix time in ms of a time on the clock of the packet path. */
  of(at: number): number {
    return Math.round(at + this.#difference);
  }
}

/** The clocks may differ by so much more or less before one of them counts as set. */
const WALL_SWING_MS = 1_000;

/** Text of an address of four words; IPv4 uses the first. */
export function addressText(version: number, words: ArrayLike<number>): string {
  const bytes = new Uint8Array(version === 4 ? 4 : 16);
  const view = new DataView(bytes.buffer);
  for (let i = 0; 4 * i < bytes.length; i++) view.setInt32(4 * i, words[i]!);
  return formatAddress(bytes);
}

/** Whether packets of a protocol have ports. */
export function hasPorts(protocol: number): boolean {
  return protocol === PROTOCOL_TCP || protocol === PROTOCOL_UDP;
}
