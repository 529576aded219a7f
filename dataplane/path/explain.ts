// Explains what would become of a packet, for people who ask. The packet is judged by the code that
// judges all packets, and then nothing is done with it: no flow, counter, timer or window changes.
//
// The worker that would judge the packet answers. For a packet from device to device these may be
// two workers, and the second one is asked when the first one lets the packet pass.

import type { Decision } from '../filter/decision.ts';
import { NO_PEER } from '../filter/flow-verdict.ts';
import type { Tracker } from '../filter/tracker.ts';
import { type ReasonName, reasonNames, reasons } from '../reasons.ts';
import { VIRTIO_HEADER_BYTES } from '../wire/virtio.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';
import type { Sender } from '../wireguard/send.ts';
import { isOwn, type Tunnel } from '../wireguard/tunnel.ts';
import type { InwardJudge } from './inward.ts';
import type { OutwardJudge } from './outward.ts';
import { ECHO_TO_SENDER, TO_DOOR, TO_PEER, TO_TUN, TO_WORKER, Verdict } from './verdict.ts';

/** A packet that somebody asks about. */
export interface Question {
  /** Public key of the device that would send it; null: it would come from the TUN. */
  readonly from: string | null;
  /** From its IP header on. */
  readonly packet: Uint8Array;
}

/** What decided, with the public key of the device that opened the flow in place of its slot. */
export interface ExplainedDecision extends Omit<Decision, 'opener'> {
  /** Null: the flow was opened from behind the TUN, or there is none. */
  readonly opener: string | null;
}

/** The ends of a packet that may have no session. */
export const waitedEnds = ['sender', 'receiver'] as const;

/** What would become of a packet. */
export interface Explanation {
  /** Why it would be refused; `none`: it would pass. */
  readonly reason: ReasonName;
  /** Where it would go; `sender`: the gateway itself would answer it. */
  readonly place: 'nowhere' | 'tun' | 'device' | 'sender';
  /** Public key of the device that it is for; null: it is for none. */
  readonly to: string | null;
  /** The devices without a session, for which a packet that is not refused has to wait. */
  readonly waitsFor: readonly (typeof waitedEnds)[number][];
  /** Null where the packet was refused before its flow and the rules were asked. */
  readonly decision: ExplainedDecision | null;
  /** The worker that judges it too, because the device is there; null: none. */
  readonly next: number | null;
}

/** What explanations are read from. */
export interface ExplainedBy {
  readonly inward: InwardJudge;
  readonly outward: OutwardJudge;
  readonly tracker: Pick<Tracker, 'decisionOn'>;
  readonly tunnel: Pick<Tunnel, 'known' | 'atSlot'>;
  readonly sender: Pick<Sender, 'refusalOf' | 'hasToWait'>;
}

/**
 * Asks those of so many workers that judge a packet, and joins what they say. Null: none can say
 * it.
 */
export async function explainAmong(
  workers: number,
  ask: (worker: number, isHanded: boolean) => Promise<Explanation | null>,
): Promise<Explanation | null> {
  const numbers = Array.from({ length: workers }, (_, number) => number);
  const answers = await Promise.all(numbers.map((number) => ask(number, false)));
  const first = answers.find((answer) => answer !== null) ?? null;
  if (first === null || first.next === null) return first;
  const second = await ask(first.next, true);
  if (second === null) return null;
  // Where the rules of the second one do not refuse it, those of the first one have let it pass.
  const isByRules = second.reason === 'rule_drop' || second.reason === 'default_drop';
  const waitsFor = second.reason === 'none' ? [...first.waitsFor, ...second.waitsFor] : [];
  return { ...second, waitsFor, decision: (isByRules ? second : first).decision };
}

/** A packet as a TUN gives it, behind a header; zeros say that it is no super-packet. */
function asFromTun(packet: Uint8Array): DataView {
  const bytes = new Uint8Array(VIRTIO_HEADER_BYTES + packet.byteLength);
  bytes.set(packet, VIRTIO_HEADER_BYTES);
  return new DataView(bytes.buffer);
}

const PLACES = {
  [TO_TUN]: 'tun',
  [TO_PEER]: 'device',
  [ECHO_TO_SENDER]: 'sender',
  [TO_DOOR]: 'sender',
} as const;

/** Explains verdicts. */
export class Explainer {
  readonly #parts: ExplainedBy;

  constructor(parts: ExplainedBy) {
    this.#parts = parts;
  }

  /**
   * Explains the verdict of this worker; null where other workers judge the packet. `isHanded`: the
   * worker of its sender has let it pass.
   */
  explain({ from, packet }: Question, isHanded: boolean, now: number): Explanation | null {
    const { inward, outward, tunnel } = this.#parts;
    const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
    const verdict = new Verdict();
    if (from === null) {
      outward.judge(asFromTun(packet), VIRTIO_HEADER_BYTES, packet.byteLength, false, verdict);
      return verdict.place === TO_WORKER ? null : this.#explanation(verdict, null, now);
    }
    const peer = tunnel.known(from);
    if (peer === undefined || peer.isHere === isHanded) return null;
    if (isHanded) inward.judgeHanded(view, 0, packet.byteLength, peer, verdict);
    else inward.judge(view, 0, packet.byteLength, peer, verdict);
    return this.#explanation(verdict, isHanded ? null : peer, now);
  }

  /** `from`: the device of this worker that sends the packet; null: none does. */
  #explanation(verdict: Verdict, from: KnownPeer | null, now: number): Explanation {
    const { place, to } = verdict;
    const reason = this.#reason(verdict, now);
    const passes = reason === reasons.none;
    return {
      reason: reasonNames[reason]!,
      place: passes ? (PLACES[place as keyof typeof PLACES] ?? 'nowhere') : 'nowhere',
      to: to?.id ?? null,
      waitsFor: passes ? this.#waitsFor(verdict, from, now) : [],
      decision: this.#decision(verdict),
      next: passes && to !== null && !to.isHere ? to.worker : null,
    };
  }

  /** The reason of the verdict, or why the packet cannot be sent to its device. */
  #reason({ reason, place, to }: Verdict, now: number): number {
    if (reason !== reasons.none || place !== TO_PEER || to === null || !isOwn(to)) return reason;
    return this.#parts.sender.refusalOf(to, now);
  }

  #waitsFor({ place, to }: Verdict, from: KnownPeer | null, now: number): Explanation['waitsFor'] {
    // What a device sends comes by its current keypair, or by an older one beside it.
    const isCut = from !== null && isOwn(from) && (from.current?.isExpired(now) ?? true);
    const isLast = place === TO_PEER && to !== null && isOwn(to);
    const isStaged = isLast && this.#parts.sender.hasToWait(to, now);
    return waitedEnds.filter((end) => (end === 'sender' ? isCut : isStaged));
  }

  #decision({ wasFiltered, flow }: Verdict): ExplainedDecision | null {
    if (!wasFiltered) return null;
    const { opener, ...decision } = this.#parts.tracker.decisionOn(flow);
    return { ...decision, opener: this.#keyOf(opener) };
  }

  #keyOf(slot: number): string | null {
    const peer: KnownPeer | null = slot === NO_PEER ? null : this.#parts.tunnel.atSlot(slot);
    return peer?.id ?? null;
  }
}
