// The list of the flows that are alive, for people who ask: both ends, which rule decided, and what
// each has carried. A worker walks its table in parts. The worker of the device that opened a flow
// lists it; if the flow was opened from behind the TUN, the worker of its receiver does. So each
// flow is listed once. Flows of a device that went to another gateway are left out, because no
// packet of it passes here.

import {
  FLOWS_LOOKED_AT_PER_PART,
  FLOWS_TRIED_PER_PART,
  MAX_LISTED_PER_PART,
} from '../constants.ts';
import type { Decision } from '../filter/decision.ts';
import {
  A,
  A_PORT,
  B,
  B_PORT,
  type FlowTable,
  KIND,
  peerOf,
  REPLIED,
  STATE,
} from '../filter/flow-table.ts';
import { FlowVerdict, NO_PEER } from '../filter/flow-verdict.ts';
import type { Tracker } from '../filter/tracker.ts';
import type { FilterTrial } from '../filter/trial.ts';
import { reasons } from '../reasons.ts';
import type { Sanity } from '../sanity.ts';
import { AddressRange } from '../wire/network.ts';
import {
  addressText,
  type DeviceQuery,
  hasPorts,
  type Listed,
  ListedDevices,
  type ListedFrom,
  WallTimes,
} from './listed.ts';
import { FlowRanking } from './flow-ranking.ts';
import type { OverQuota } from './over-quota.ts';

/** Which flows are asked for; null does not matter. The devices may be at either end. */
export interface FlowQuery extends DeviceQuery {
  /** Where they were opened to: 4 or 16 bytes; host bits do not count. */
  readonly destination: { readonly network: Uint8Array; readonly prefixBits: number } | null;
  /** The id of the rule that decided. */
  readonly rule: string | null;
  /** Whether those alone are wanted that carry most at present, the fastest first. */
  readonly isRanked?: boolean;
}

/** A flow. Times are Unix time in ms. */
export interface LiveFlow {
  /** Public key of the device that opened it; null: it was opened from behind the TUN. */
  readonly opener: string | null;
  /** Public key of the device that it was opened to; null: it goes to the TUN. */
  readonly target: string | null;
  readonly source: string;
  readonly destination: string;
  /** The number of the IP protocol. */
  readonly protocol: number;
  /** Null where the protocol has none. */
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  readonly isAnswered: boolean;
  readonly by: Decision['by'];
  readonly rule: string | null;
  /** Inner packets and their bytes that passed: of the opener, and of the other side. */
  readonly sentPackets: number;
  readonly sentBytes: number;
  readonly replyPackets: number;
  readonly replyBytes: number;
  readonly openedMs: number;
  readonly latestMs: number;
  /** Bytes a second, both ways together; of ranked flows alone. */
  readonly rate?: number;
}

/** Where a list of flows goes on. */
export interface FlowPlace {
  readonly worker: number;
  readonly flow: number;
}

/** A page of a list of flows. */
export interface FlowPage {
  readonly flows: readonly LiveFlow[];
  /** Where the next page begins; null: this is the last one. */
  readonly next: FlowPlace | null;
}

/**
 * Asks so many workers, one after the other and part by part, for `limit` flows. A flow that is
 * alive all the time is on exactly one page. A worker that gives no part is passed over.
 */
export async function flowsAmong(
  workers: number,
  ask: (place: FlowPlace, limit: number) => Promise<Listed<LiveFlow> | null>,
  limit: number,
  from: FlowPlace | null,
): Promise<FlowPage> {
  const flows: LiveFlow[] = [];
  let place = from ?? { worker: 0, flow: 1 };
  while (place.worker < workers) {
    if (flows.length >= limit) return { flows, next: place };
    const part = await ask(place, limit - flows.length);
    flows.push(...(part?.found ?? []));
    const next = part?.next ?? null;
    place = next === null ? { worker: place.worker + 1, flow: 1 } : { ...place, flow: next };
  }
  return { flows, next: null };
}

/**
 * Asks so many workers, one after the other and part by part, for the `limit` flows that carry most
 * at present. A worker that gives no part is passed over.
 */
export async function busiestAmong(
  workers: number,
  ask: (place: FlowPlace) => Promise<Listed<LiveFlow> | null>,
  limit: number,
): Promise<readonly LiveFlow[]> {
  const flows: LiveFlow[] = [];
  for (let worker = 0; worker < workers; worker++)
    for (let flow: number | null = 1; flow !== null;) {
      const part: Listed<LiveFlow> | null = await ask({ worker, flow });
      flows.push(...(part?.found ?? []));
      flow = part?.next ?? null;
    }
  const first = flows.toSorted(
    (one, other) => (other.rate ?? 0) - (one.rate ?? 0) || other.latestMs - one.latestMs,
  );
  return first.slice(0, limit);
}

/** A part of the flows that a change would end. */
export interface EndedPart {
  readonly count: number;
  /** The first of them, with what they carried so far. */
  readonly found: readonly LiveFlow[];
  /** Public keys of the devices that opened them, or that hosts behind the TUN opened them to. */
  readonly devices: readonly string[];
  /** Where the next part begins; null: this is the last one. */
  readonly next: number | null;
}

/** What flows are listed from. */
export interface FlowsListedFrom extends ListedFrom {
  readonly overQuota: Pick<OverQuota, 'has'>;
  readonly sanity: Pick<Sanity, 'isGateway'>;
}

/** What flows are judged by as they would be after a change. */
export interface FlowTrial {
  readonly rules: Pick<FilterTrial, 'ends'>;
  /** By peer slot, of peers that change: whether they would be over their quota. */
  readonly overQuota: ReadonlyMap<number, boolean>;
}

/** Lists the flows of one worker. */
export class FlowList {
  readonly #overQuota: FlowsListedFrom['overQuota'];
  readonly #sanity: FlowsListedFrom['sanity'];
  readonly #flows: FlowTable;
  readonly #tracker: Tracker;
  readonly #devices: ListedDevices;
  readonly #verdict = new FlowVerdict();
  readonly #times = new WallTimes();
  readonly #ranking = new FlowRanking();

  constructor(from: FlowsListedFrom) {
    this.#overQuota = from.overQuota;
    this.#sanity = from.sanity;
    this.#tracker = from.tracker;
    this.#flows = from.tracker.flows;
    this.#devices = new ListedDevices(from);
  }

  /** At most `limit` flows, from the flow of that number on. Nothing changes. */
  part(
    query: FlowQuery,
    from: number,
    limit: number,
    now: number,
    wallMs: number,
  ): Listed<LiveFlow> {
    const found: LiveFlow[] = [];
    if (this.#devices.isNobody(query)) return { found, next: null };
    this.#times.begin(now, wallMs);
    const isAsked = this.#filterOf(query);
    if (query.isRanked === true) return this.#ranked(query, isAsked, from, now);
    const most = Math.min(limit, MAX_LISTED_PER_PART);
    const end = Math.min(this.#flows.used + 1, from + FLOWS_LOOKED_AT_PER_PART);
    let flow = from;
    for (; flow < end && found.length < most; flow++)
      if (this.#flows.isAlive(flow) && isAsked(flow) && this.#passes(flow)) {
        const decision = this.#tracker.decisionOn(this.#verdict);
        if (query.rule === null || decision.rule === query.rule)
          found.push(this.#read(flow, decision));
      }
    return { found, next: flow > this.#flows.used ? null : flow };
  }

  #ranked(
    query: FlowQuery,
    isAsked: (flow: number) => boolean,
    from: number,
    now: number,
  ): Listed<LiveFlow> {
    const flows = this.#flows;
    const counts = this.#tracker.counts;
    const ranked = {
      capacity: flows.capacity,
      used: flows.used,
      isAsked: (flow: number) => flows.isAlive(flow) && isAsked(flow),
      mayBeListed: (flow: number) => {
        if (!this.#passes(flow)) return false;
        return query.rule === null || this.#tracker.decisionOn(this.#verdict).rule === query.rule;
      },
      bytes: (flow: number) => counts.bytes(flow),
      openedAt: (flow: number) => counts.openedAt(flow),
      latestAt: (flow: number) => counts.latestAt(flow),
    };
    const { found, next } = this.#ranking.part(ranked, from, now);
    // Between two parts a flow may have ended, or another one may have its number.
    const still = found.filter(({ flow }) => ranked.isAsked(flow) && ranked.mayBeListed(flow));
    return { found: still.map(({ flow, rate }) => ({ ...this.#readNow(flow), rate })), next };
  }

  #readNow(flow: number): LiveFlow {
    this.#passes(flow);
    return this.#read(flow, this.#tracker.decisionOn(this.#verdict));
  }

  /**
   * Counts the flows that a change would end, from the flow of that number on, and lists at most
   * `limit` of them. Nothing changes.
   */
  ended(trial: FlowTrial, from: number, limit: number, now: number, wallMs: number): EndedPart {
    this.#times.begin(now, wallMs);
    const most = Math.min(limit, MAX_LISTED_PER_PART);
    const found: LiveFlow[] = [];
    const slots = new Set<number>();
    let count = 0;
    const end = Math.min(this.#flows.used + 1, from + FLOWS_TRIED_PER_PART);
    for (let flow = from; flow < end; flow++) {
      if (!this.#flows.isAlive(flow)) continue;
      const slot = this.#slotOf(flow);
      if (!this.#devices.isHere(slot) || !this.#passes(flow)) continue;
      const decision = found.length < most ? this.#tracker.decisionOn(this.#verdict) : null;
      if (!trial.rules.ends(flow) && !this.#isStopped(flow, trial.overQuota)) continue;
      count++;
      slots.add(slot);
      if (decision !== null) found.push(this.#read(flow, decision));
    }
    const devices = [...slots]
      .map((slot) => this.#devices.keyOf(slot))
      .filter((key) => key !== null);
    return { count, found, devices, next: end > this.#flows.used ? null : end };
  }

  /** The device that opened a flow, or the one that a host behind the TUN opened it to. */
  #slotOf(flow: number): number {
    const opener = peerOf(this.#flows.opener(flow));
    return opener === NO_PEER ? peerOf(this.#flows.target(flow)) : opener;
  }

  /** Says of a flow whether it is asked for, as far as its ends say it. */
  #filterOf(query: FlowQuery): (flow: number) => boolean {
    const flows = this.#flows;
    const devices = this.#devices;
    const isDevice = devices.asked(query);
    const isAny = query.device === null && query.scope === null;
    const range = query.destination === null ? null : new AddressRange(query.destination);
    return (flow) => {
      if (!devices.isHere(this.#slotOf(flow))) return false;
      const opener = peerOf(flows.opener(flow));
      const target = peerOf(flows.target(flow));
      if (!isAny && !isDevice(opener) && !isDevice(target)) return false;
      return range === null || range.has(flows.get(flow, KIND) >> 8, this.#words(flow, B));
    };
  }

  /** Whether the present rules and quotas let a flow pass. */
  #passes(flow: number): boolean {
    const isLet = this.#tracker.judge.ofFlow(flow, this.#verdict) === reasons.none;
    return isLet && !this.#isStopped(flow);
  }

  /**
   * Whether a quota stops a flow, which it never does with one from or to the gateway itself.
   * `after` has the peers of which something else is to be believed than what is so now.
   */
  #isStopped(flow: number, after?: FlowTrial['overQuota']): boolean {
    const flows = this.#flows;
    const isOver = (slot: number): boolean =>
      slot !== NO_PEER && (after?.get(slot) ?? this.#overQuota.has(slot));
    if (!isOver(peerOf(flows.opener(flow))) && !isOver(peerOf(flows.target(flow)))) return false;
    const version = flows.get(flow, KIND) >> 8;
    return [A, B].every((field) => !this.#sanity.isGateway(version, this.#words(flow, field)));
  }

  #words(flow: number, field: number): number[] {
    return [0, 1, 2, 3].map((i) => this.#flows.get(flow, field + i));
  }

  #read(flow: number, { by, rule }: Decision): LiveFlow {
    const flows = this.#flows;
    const kind = flows.get(flow, KIND);
    const protocol = kind & 0xff;
    const port = (field: number): number | null =>
      hasPorts(protocol) ? flows.get(flow, field) : null;
    const { openedAt, latestAt, ...carried } = this.#tracker.counts.of(flow);
    return {
      opener: this.#devices.keyOf(peerOf(flows.opener(flow))),
      target: this.#devices.keyOf(peerOf(flows.target(flow))),
      source: addressText(kind >> 8, this.#words(flow, A)),
      destination: addressText(kind >> 8, this.#words(flow, B)),
      protocol,
      sourcePort: port(A_PORT),
      destinationPort: port(B_PORT),
      isAnswered: (flows.get(flow, STATE) & REPLIED) !== 0,
      by,
      rule,
      ...carried,
      openedMs: this.#times.of(openedAt),
      latestMs: this.#times.of(latestAt),
    };
  }
}
