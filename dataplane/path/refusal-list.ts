// The list of the packets that were refused lately, for people who ask: whose they were, where they
// should have gone, why they were refused, how often and when. Each worker walks its table in
// parts; packets that are alike are one entry, also if several workers refused them.

import { MAX_LISTED_PER_PART, REFUSALS_LOOKED_AT_PER_PART } from '../constants.ts';
import type { RefusalRecord, RefusalTable } from '../filter/refusals.ts';
import type { FilterTrial } from '../filter/trial.ts';
import { type ReasonName, reasonNames, reasons } from '../reasons.ts';
import { InnerPacket, WHOLE } from '../wire/ip.ts';
import {
  addressText,
  type DeviceQuery,
  hasPorts,
  type Listed,
  ListedDevices,
  type ListedFrom,
  WallTimes,
} from './listed.ts';

/** Which refusals are asked for; null does not matter. */
export interface RefusalQuery extends DeviceQuery {
  readonly reason: ReasonName | null;
}

/** Refused packets that are alike. Times are Unix time in ms. */
export interface SeenRefusal {
  /** Public key of the device that sent them, or that they were for. */
  readonly device: string;
  readonly isSent: boolean;
  /** Null where they could not be read, as the protocol is. */
  readonly source: string | null;
  readonly destination: string | null;
  /** The number of the IP protocol. */
  readonly protocol: number | null;
  /** The port of the destination; null where there is none, or they do not show it. */
  readonly port: number | null;
  readonly reason: ReasonName;
  /** The id of the rule that refused the latest one; null: none did, or it is not known. */
  readonly rule: string | null;
  readonly count: number;
  readonly firstMs: number;
  readonly latestMs: number;
}

/** Asks so many workers, part by part, for the latest `limit` refusals; the latest one is first. */
export async function refusalsAmong(
  workers: number,
  ask: (worker: number, from: number) => Promise<Listed<SeenRefusal> | null>,
  limit: number,
): Promise<SeenRefusal[]> {
  return (await allRefusals(workers, ask)).slice(0, limit);
}

/** Asks so many workers, part by part, for all refusals; the latest one is first. */
export async function allRefusals(
  workers: number,
  ask: (worker: number, from: number) => Promise<Listed<SeenRefusal> | null>,
): Promise<SeenRefusal[]> {
  const all = new Map<string, SeenRefusal>();
  for (let worker = 0; worker < workers; worker++)
    for (let from: number | null = 1; from !== null;) {
      const part: Listed<SeenRefusal> | null = await ask(worker, from);
      for (const one of part?.found ?? []) {
        const key = keyOf(one);
        all.set(key, joined(all.get(key), one));
      }
      from = part?.next ?? null;
    }
  return [...all.values()].toSorted((a, b) => b.latestMs - a.latestMs);
}

function keyOf({
  device,
  isSent,
  source,
  destination,
  protocol,
  port,
  reason,
}: SeenRefusal): string {
  return [device, isSent, source, destination, protocol, port, reason].join(' ');
}

function joined(one: SeenRefusal | undefined, other: SeenRefusal): SeenRefusal {
  if (one === undefined) return other;
  return {
    ...(one.latestMs > other.latestMs ? one : other),
    count: one.count + other.count,
    firstMs: Math.min(one.firstMs, other.firstMs),
  };
}

/** Lists what one worker has refused. */
export class RefusalList {
  readonly #refusals: RefusalTable;
  readonly #devices: ListedDevices;
  readonly #times = new WallTimes();
  readonly #packet = new InnerPacket();

  constructor({ refusals, ...from }: ListedFrom & { readonly refusals: RefusalTable }) {
    this.#refusals = refusals;
    this.#devices = new ListedDevices(from);
  }

  /** Takes the part that begins with the record of that number. Nothing changes. */
  part(query: RefusalQuery, from: number, now: number, wallMs: number): Listed<SeenRefusal> {
    if (this.#devices.isNobody(query)) return { found: [], next: null };
    const isDevice = this.#devices.asked(query);
    const { reason } = query;
    const isAsked = (record: RefusalRecord): boolean =>
      isDevice(record.slot) && (reason === null || reason === reasonNames[record.reason]);
    return this.#walk(isAsked, from, now, wallMs);
  }

  /**
   * Takes a part of the packets of devices that the rules refuse now and would let pass after a
   * change. Nothing changes.
   */
  passed(trial: FilterTrial, from: number, now: number, wallMs: number): Listed<SeenRefusal> {
    const isAsked = (record: RefusalRecord): boolean =>
      record.isSent &&
      BY_RULES.has(record.reason) &&
      trial.lets(describe(record, this.#packet), record.slot);
    return this.#walk(isAsked, from, now, wallMs);
  }

  #walk(
    isAsked: (record: RefusalRecord) => boolean,
    from: number,
    now: number,
    wallMs: number,
  ): Listed<SeenRefusal> {
    const found: SeenRefusal[] = [];
    const times = this.#times;
    times.begin(now, wallMs);
    const { capacity } = this.#refusals;
    const end = Math.min(capacity + 1, from + REFUSALS_LOOKED_AT_PER_PART);
    let number = from;
    for (; number < end && found.length < MAX_LISTED_PER_PART; number++) {
      const record = this.#refusals.read(number);
      if (record === null || !isAsked(record)) continue;
      const reason = reasonNames[record.reason]!;
      const device = this.#devices.keyOf(record.slot);
      if (device === null) continue;
      const [firstMs, latestMs] = [times.of(record.firstAt), times.of(record.latestAt)];
      found.push({ device, ...shown(record), reason, firstMs, latestMs });
    }
    return { found, next: number > capacity ? null : number };
  }
}

/** Why rules refuse packets. */
const BY_RULES: ReadonlySet<number> = new Set([reasons.rule_drop, reasons.default_drop]);

/** Fills in what the rules read of a packet. */
function describe(record: RefusalRecord, packet: InnerPacket): InnerPacket {
  const { destination } = record;
  packet.version = record.version;
  packet.protocol = record.protocol;
  packet.fragment = WHOLE;
  packet.destination0 = destination[0]!;
  packet.destination1 = destination[1]!;
  packet.destination2 = destination[2]!;
  packet.destination3 = destination[3]!;
  packet.destinationPort = record.port;
  return packet;
}

function shown(
  record: RefusalRecord,
): Omit<SeenRefusal, 'device' | 'reason' | 'firstMs' | 'latestMs'> {
  const { isSent, version, protocol, port, rule, count } = record;
  const isKnown = version !== 0;
  return {
    isSent,
    source: isKnown ? addressText(version, record.source) : null,
    destination: isKnown ? addressText(version, record.destination) : null,
    protocol: isKnown ? protocol : null,
    port: isKnown && hasPorts(protocol) && port >= 0 ? port : null,
    rule,
    count,
  };
}
