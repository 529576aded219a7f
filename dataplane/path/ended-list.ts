// The list of the flows that have ended, for people who ask; the one that ended last is first. Each
// worker walks its records in parts, from the newest one back. A page joins what the workers say.

import { FLOWS_LOOKED_AT_PER_PART, MAX_LISTED_PER_PART } from '../constants.ts';
import type { EndDevice, EndedFlows, EndedRecord, EndReason } from '../filter/ended-flows.ts';
import { AddressRange } from '../wire/network.ts';
import type { FlowQuery, LiveFlow } from './flow-list.ts';
import { addressText, hasPorts, type Listed, WallTimes } from './listed.ts';

/** A flow that has ended. Times are Unix time in ms. */
export interface EndedFlow extends LiveFlow {
  /** Its number in its worker; it grows from flow to flow. */
  readonly number: number;
  /** The scopes of the two devices when it ended. */
  readonly openerScope: string | null;
  readonly targetScope: string | null;
  readonly because: EndReason;
  /** When its end was noticed. */
  readonly endedMs: number;
}

/** Where a list of ended flows goes on: for each worker, before which number. */
export type EndedPlace = readonly number[];

/** A page of a list of ended flows. */
export interface EndedPage {
  readonly flows: readonly EndedFlow[];
  /** Where the next page begins; null: this is the last one. */
  readonly next: EndedPlace | null;
}

/** What is left of the list of one worker. */
interface Head {
  /** Flows that the worker named and that are on no page yet. */
  readonly found: EndedFlow[];
  /** The number before which the worker goes on; 0: it has named all its flows. */
  before: number;
}

/** In place of a number: all records come before it. */
const FROM_NEWEST = Number.MAX_SAFE_INTEGER;

/**
 * Asks so many workers, part by part, for the `limit` flows that ended last. A flow is on one page
 * at most. A worker that gives no part is passed over.
 */
export async function endedAmong(
  workers: number,
  ask: (worker: number, before: number, limit: number) => Promise<Listed<EndedFlow> | null>,
  limit: number,
  from: EndedPlace | null,
): Promise<EndedPage> {
  const heads = Array.from({ length: workers }, (_, worker): Head => {
    const before = from === null ? FROM_NEWEST : (from[worker] ?? 0);
    return { found: [], before };
  });
  const flows: EndedFlow[] = [];
  for (;;) {
    for (const [worker, head] of heads.entries())
      while (head.found.length === 0 && head.before > 0) {
        const part = await ask(worker, head.before, Math.max(1, limit - flows.length));
        head.found.push(...(part?.found ?? []));
        head.before = part?.next ?? 0;
      }
    const latest = latestOf(heads);
    if (latest === null) return { flows, next: null };
    if (flows.length === limit) return { flows, next: heads.map(nextNumberOf) };
    flows.push(latest.found.shift()!);
  }
}

/** The worker whose next flow ended last; null: all workers have named all their flows. */
function latestOf(heads: readonly Head[]): Head | null {
  let latest: Head | null = null;
  for (const head of heads) {
    const [flow] = head.found;
    if (flow !== undefined && (latest === null || flow.endedMs > latest.found[0]!.endedMs))
      latest = head;
  }
  return latest;
}

function nextNumberOf({ found, before }: Head): number {
  return found.length > 0 ? found[0]!.number + 1 : before;
}

/** Lists the ended flows of one worker. */
export class EndedList {
  readonly #ended: EndedFlows;
  readonly #times = new WallTimes();

  constructor(ended: EndedFlows) {
    this.#ended = ended;
  }

  /** At most `limit` flows whose number is below `before`, the latest one first. */
  part(
    query: FlowQuery,
    before: number,
    limit: number,
    now: number,
    wallMs: number,
  ): Listed<EndedFlow> {
    const ended = this.#ended;
    this.#times.begin(now, wallMs);
    const isAsked = filterOf(query);
    const most = Math.min(limit, MAX_LISTED_PER_PART);
    const found: EndedFlow[] = [];
    let place = ended.before(before);
    let next: number | null = null;
    for (let looks = FLOWS_LOOKED_AT_PER_PART; place !== 0; looks--) {
      if (looks === 0 || found.length === most) return { found, next };
      const record = ended.read(place);
      if (isAsked(record)) found.push(this.#shown(record));
      next = record.number;
      place = ended.earlier(place);
    }
    return { found, next: null };
  }

  #shown(record: EndedRecord): EndedFlow {
    const { version, protocol, opener, target } = record;
    const port = (value: number): number | null => (hasPorts(protocol) ? value : null);
    return {
      number: record.number,
      opener: opener?.key ?? null,
      target: target?.key ?? null,
      source: addressText(version, record.source),
      destination: addressText(version, record.destination),
      protocol,
      sourcePort: port(record.sourcePort),
      destinationPort: port(record.destinationPort),
      isAnswered: record.isAnswered,
      by: record.by,
      rule: record.rule,
      sentPackets: record.sentPackets,
      sentBytes: record.sentBytes,
      replyPackets: record.replyPackets,
      replyBytes: record.replyBytes,
      openedMs: this.#times.of(record.openedAt),
      latestMs: this.#times.of(record.latestAt),
      openerScope: opener?.scope ?? null,
      targetScope: target?.scope ?? null,
      because: record.because,
      endedMs: this.#times.of(record.endedAt),
    };
  }
}

/** Says whether a record is asked for. */
function filterOf({ device, scope, rule, destination }: FlowQuery): (one: EndedRecord) => boolean {
  const range = destination === null ? null : new AddressRange(destination);
  const isAny = device === null && scope === null;
  const isAsked = (end: EndDevice | null): boolean =>
    end !== null &&
    (device === null || end.key === device) &&
    (scope === null || end.scope === scope);
  return (one) =>
    (isAny || isAsked(one.opener) || isAsked(one.target)) &&
    (rule === null || one.rule === rule) &&
    (range === null || range.has(one.version, one.destination));
}
