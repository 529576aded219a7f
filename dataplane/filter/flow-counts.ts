// What each flow has carried, and since when, for people who ask. The numbers are beside the flow
// table and decide nothing. Nothing is allocated for each packet.

/** Numbers of a flow: times on the clock of the packet path, then packets and bytes each way. */
export const COUNT_FIELDS = 6;
const OPENED = 0;
const LATEST = 1;
/** Packets of A; those of B are two places further. */
const PACKETS = 2;
const BYTES = 3;
const OF_REPLIES = 2;

/** What a flow has carried. */
export interface FlowCount {
  /** When it was opened and when its last packet passed, on the clock of the packet path, in ms. */
  readonly openedAt: number;
  readonly latestAt: number;
  /** Inner packets and their bytes: from the side that opened it, and from the other one. */
  readonly sentPackets: number;
  readonly sentBytes: number;
  readonly replyPackets: number;
  readonly replyBytes: number;
}

/** What all flows of a table have carried: packets that the filter let pass. */
export class FlowCounts {
  readonly #fields: Float64Array;
  /** In an array, because V8 may allocate a number in a field or one that is passed. */
  readonly #now = new Float64Array(1);

  /** `capacity` is the highest number of a flow. */
  constructor(capacity: number) {
    this.#fields = new Float64Array((capacity + 1) * COUNT_FIELDS);
  }

  /** Sets the time until the next call. */
  begin(now: number): void {
    this.#now[0] = now;
  }

  /** Begins a flow with nothing. */
  open(flow: number): void {
    const fields = this.#fields;
    const at = flow * COUNT_FIELDS;
    fields[at + OPENED] = this.#now[0]!;
    fields[at + LATEST] = this.#now[0]!;
    // A call of `fill` costs more than these four.
    fields[at + PACKETS] = 0;
    fields[at + BYTES] = 0;
    fields[at + PACKETS + OF_REPLIES] = 0;
    fields[at + BYTES + OF_REPLIES] = 0;
  }

  /** Counts packets of a flow; `reply` is 1 where they go from B to A. */
  count(flow: number, reply: number, packets: number, bytes: number): void {
    const fields = this.#fields;
    const at = flow * COUNT_FIELDS;
    fields[at + LATEST] = this.#now[0]!;
    const way = at + OF_REPLIES * reply;
    fields[way + PACKETS]! += packets;
    fields[way + BYTES]! += bytes;
  }

  /** The bytes of a flow, both ways together. */
  bytes(flow: number): number {
    const at = flow * COUNT_FIELDS + BYTES;
    return this.#fields[at]! + this.#fields[at + OF_REPLIES]!;
  }

  /** When a flow was opened, on the clock of the packet path. */
  openedAt(flow: number): number {
    return this.#fields[flow * COUNT_FIELDS + OPENED]!;
  }

  /** When the last packet of a flow passed. */
  latestAt(flow: number): number {
    return this.#fields[flow * COUNT_FIELDS + LATEST]!;
  }

  /** Copies what a flow has carried to an array, in the order of `readCount`. */
  copy(flow: number, to: Float64Array, at: number): void {
    const from = flow * COUNT_FIELDS;
    for (let i = 0; i < COUNT_FIELDS; i++) to[at + i] = this.#fields[from + i]!;
  }

  /** What a flow has carried. */
  of(flow: number): FlowCount {
    return readCount(this.#fields, flow * COUNT_FIELDS);
  }
}

/** Reads what a flow has carried from numbers at a place. */
export function readCount(fields: Float64Array, at: number): FlowCount {
  return {
    openedAt: fields[at + OPENED]!,
    latestAt: fields[at + LATEST]!,
    sentPackets: fields[at + PACKETS]!,
    sentBytes: fields[at + BYTES]!,
    replyPackets: fields[at + PACKETS + OF_REPLIES]!,
    replyBytes: fields[at + BYTES + OF_REPLIES]!,
  };
}
