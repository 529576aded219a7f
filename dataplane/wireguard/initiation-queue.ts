// Initiations that wait for their Diffie-Hellman computations: a ring of whole messages, each with
// the endpoint that it came from. Those that the receptionist opened have what it left of the
// handshake behind them, and name their peer.

import { MAX_QUEUED_INITIATIONS } from '../constants.ts';
import { OPENED_INITIATION_BYTES } from '../noise/handshake.ts';
import { copyEndpoint, type EndpointTable } from '../wire/address.ts';
import type { KnownPeer } from './known-peer.ts';
import { endpointLayout } from './tunnel.ts';

/** In place of the slot of a peer: the initiation was not opened yet. */
const NOT_OPENED = -1;

/** A queue of MAX_QUEUED_INITIATIONS; what was taken is in its place until the next `add`. */
export class InitiationQueue {
  readonly #endpoints: EndpointTable;
  readonly #messages = new Uint8Array(MAX_QUEUED_INITIATIONS * OPENED_INITIATION_BYTES);
  readonly #slots = new Int32Array(MAX_QUEUED_INITIATIONS);
  readonly #generations = new Int32Array(MAX_QUEUED_INITIATIONS);
  readonly #since = new Float64Array(MAX_QUEUED_INITIATIONS);
  #first = 0;
  #count = 0;

  constructor(endpoints: EndpointTable) {
    this.#endpoints = endpoints;
  }

  /** How many wait. */
  get count(): number {
    return this.#count;
  }

  /**
   * Adds a message that came from the endpoint in slot `from` at `now`, in ms. `peer`: whose it is,
   * where it was opened. False when the queue is full.
   */
  add(message: Uint8Array, from: number, now: number, peer: KnownPeer | null): boolean {
    if (this.#count === MAX_QUEUED_INITIATIONS) return false;
    const place = (this.#first + this.#count) % MAX_QUEUED_INITIATIONS;
    this.#messages.set(message, place * OPENED_INITIATION_BYTES);
    this.#slots[place] = peer === null ? NOT_OPENED : peer.slot;
    this.#generations[place] = peer === null ? 0 : peer.generation;
    copyEndpoint(this.#endpoints, from, this.from(place));
    this.#since[place] = now;
    this.#count++;
    return true;
  }

  /** Takes the one that has waited longest and returns its place; there must be one. */
  take(): number {
    const place = this.#first;
    this.#first = (place + 1) % MAX_QUEUED_INITIATIONS;
    this.#count--;
    return place;
  }

  /** The message in a place, with room for what the receptionist leaves of a handshake. */
  message(place: number): Uint8Array {
    const start = place * OPENED_INITIATION_BYTES;
    return this.#messages.subarray(start, start + OPENED_INITIATION_BYTES);
  }

  /** The slot of the endpoint that it came from. */
  from(place: number): number {
    return endpointLayout.waiting + place;
  }

  /** When it came, in ms. */
  since(place: number): number {
    return this.#since[place]!;
  }

  /** Whether the receptionist has opened it: then `slot` and `generation` name its peer. */
  wasOpened(place: number): boolean {
    return this.#slots[place] !== NOT_OPENED;
  }

  slot(place: number): number {
    return this.#slots[place]!;
  }

  generation(place: number): number {
    return this.#generations[place]!;
  }
}
