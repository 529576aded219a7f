// Counts refusals, and notes those of packets whose device is known, so that people can see what
// was refused, and by which rule. A message that the handshake refuses is no packet of a device.

import { NO_PEER } from '../filter/flow-verdict.ts';
import type { RefusalTable } from '../filter/refusals.ts';
import type { Tracker } from '../filter/tracker.ts';
import { reasons } from '../reasons.ts';
import { InnerPacket, parseInner } from '../wire/ip.ts';
import type { StagedPacket } from '../wireguard/staging.ts';
import { isOwn } from '../wireguard/tunnel.ts';
import type { Verdict } from './verdict.ts';

/** What refusals are read from and written to. */
export interface RefusedParts {
  readonly refusals: Pick<RefusalTable, 'note'>;
  readonly tracker: Pick<Tracker, 'ruleOn'>;
  /** Counts a refusal. */
  readonly drop: (reason: number) => void;
}

/** In place of a packet that could not be read. */
const UNREAD = new InnerPacket();

/** Takes refused packets. Allocates for packets that waited alone, which were copied before. */
export class Refused {
  readonly #refusals: RefusedParts['refusals'];
  readonly #tracker: RefusedParts['tracker'];
  readonly #drop: RefusedParts['drop'];
  readonly #waited = new InnerPacket();

  constructor({ refusals, tracker, drop }: RefusedParts) {
    this.#refusals = refusals;
    this.#tracker = tracker;
    this.#drop = drop;
  }

  /**
   * Takes a packet that its verdict refuses, before anything else is done about it. `from` is the
   * slot of the device that sent it; NO_PEER: it came from the TUN.
   */
  take(verdict: Verdict, from: number): void {
    const { reason } = verdict;
    this.#drop(reason);
    const isByRule = reason === reasons.rule_drop && verdict.wasFiltered;
    this.#note(verdict, from, reason, isByRule ? this.#tracker.ruleOn(verdict.flow) : null);
  }

  /**
   * Takes a packet of so many bytes that its verdict refuses, as `take` does. Where it is too big,
   * its receiver remembers that.
   */
  takeSized(verdict: Verdict, from: number, bytes: number, now: number): void {
    this.take(verdict, from);
    const { reason, to } = verdict;
    if (reason === reasons.packet_too_big && to !== null && isOwn(to)) to.inside.tooBig(bytes, now);
  }

  /** Notes a packet that passed its verdict and cannot be sent; it has been counted. */
  unsent(verdict: Verdict, from: number, reason: number): void {
    this.#note(verdict, from, reason, null);
  }

  /** Notes a packet that waited for a keypair and is given up; it has been counted. */
  waited({ bytes, headerBytes, from, peer }: StagedPacket, reason: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { length } = bytes;
    const error = parseInner(view, headerBytes, length - headerBytes, this.#waited);
    const packet = error === reasons.none ? this.#waited : UNREAD;
    const isSent = from === NO_PEER ? 0 : 1;
    this.#refusals.note(isSent === 1 ? from : peer.slot, isSent, packet, reason, null);
  }

  #note(verdict: Verdict, from: number, reason: number, rule: string | null): void {
    const packet = verdict.isReadable ? verdict.packet : UNREAD;
    if (from !== NO_PEER) this.#refusals.note(from, 1, packet, reason, rule);
    else if (verdict.to !== null) this.#refusals.note(verdict.to.slot, 0, packet, reason, rule);
  }
}
