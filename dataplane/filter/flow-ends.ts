// Notices which flows begin and end, by which rule, and whose they are. A flow has ended for people
// when it is removed from its table, or when rules do not let it pass any more; it begins again
// when they let it pass again. A worker notes the flows of its own devices, so each is noted once.
//
// A device may be gone when its last flow is removed from the table, and its slot may belong to
// another device. So a device is remembered until every flow has been looked at once more.

import { reasons } from '../reasons.ts';
import {
  deciders,
  type EndDevice,
  type EndedFlows,
  endReasons,
  type FlowEnd,
} from './ended-flows.ts';
import { type Filter, NO_RULE, type Scope } from './filter.ts';
import type { FlowCounts } from './flow-counts.ts';
import type { FlowSink } from './flow-sink.ts';
import {
  A_GENERATION,
  B_GENERATION,
  DOUBTFUL,
  type FlowTable,
  KIND,
  peerOf,
  REASON,
  REPLIED,
  RULE,
  STATE,
  TUN_OWNER,
  VERSION,
} from './flow-table.ts';
import { FlowVerdict } from './flow-verdict.ts';
import type { Judge } from './judge.ts';
import { isClosed, isFinished } from './lifetime.ts';

const FINISHED = endReasons.indexOf('finished');
const RESET = endReasons.indexOf('reset');
const IDLE = endReasons.indexOf('idle');
const REFUSED = endReasons.indexOf('refused');
const DEVICE_REMOVED = endReasons.indexOf('device_removed');
const NO_ROOM = endReasons.indexOf('no_room');
const REPLACED = endReasons.indexOf('replaced');
const GATEWAY_STOPPED = endReasons.indexOf('gateway_stopped');
const BY_NOTHING = deciders.indexOf('nothing');
const BY_DEFAULT = deciders.indexOf('default');
const BY_RULE = deciders.indexOf('rule');

/** A device as flows know it. */
interface Device {
  /**
   * The facts that records keep. The rules are left out: they may be gone long before a record is.
   */
  readonly shown: EndDevice;
  readonly rules: Scope;
  /** Whether it belongs to this worker. */
  readonly isHere: boolean;
}

/** Where ends of flows are read, and where they are written. */
export interface FlowEndsParts {
  readonly filter: Pick<Filter, 'idOf' | 'version'>;
  readonly flows: FlowTable;
  readonly judge: Pick<Judge, 'ofFlow'>;
  readonly counts: FlowCounts;
  readonly ended: EndedFlows;
}

/** Notes the ends of flows. Only changes of devices allocate. */
export class FlowEnds {
  readonly #filter: FlowEndsParts['filter'];
  readonly #flows: FlowTable;
  readonly #judge: FlowEndsParts['judge'];
  readonly #counts: FlowCounts;
  readonly #ended: EndedFlows;
  /** By slot. */
  readonly #devices: (Device | undefined)[] = [];
  /** By owner and generation: devices that are gone, and in which round they went. */
  readonly #gone = new Map<number, { readonly device: Device; readonly round: number }>();
  #round = 0;
  /** The reason for the end of a flow if no other reason is known. */
  #otherwise = REPLACED;
  #stoppedTo = 0;
  readonly #verdict = new FlowVerdict();
  /** Where beginnings and ends are handed on; null: nobody wants them. */
  log: FlowSink | null = null;
  readonly #end: FlowEnd = {
    slot: 0,
    opener: null,
    target: null,
    because: 0,
    by: 0,
    rule: null,
    isAnswered: false,
  };

  constructor({ filter, flows, judge, counts, ended }: FlowEndsParts) {
    this.#filter = filter;
    this.#flows = flows;
    this.#judge = judge;
    this.#counts = counts;
    this.#ended = ended;
    flows.onRemove = (flow, isForRoom) => this.#removed(flow, isForRoom);
  }

  // ---- devices -------------------------------------------------------------------------------

  /** Sets the device of a slot, and whose rules apply to it. */
  setDevice(slot: number, key: string, rules: Scope, isHere: boolean): void {
    this.#devices[slot] = { shown: { key, scope: rules.name }, rules, isHere };
  }

  /** Notes that a device moves to other rules. */
  moveDevice(slot: number, rules: Scope): void {
    const device = this.#devices[slot];
    if (device !== undefined) this.setDevice(slot, device.shown.key, rules, device.isHere);
  }

  /** Notes that an owner is about to be forgotten. */
  leave(owner: number): void {
    const device = this.#devices[peerOf(owner)];
    if (device === undefined || this.#flows.live === 0) return;
    const generation = this.#flows.generationOf(owner);
    this.#gone.set(keyOf(owner, generation), { device, round: this.#round });
  }

  removeDevice(slot: number): void {
    this.#devices[slot] = undefined;
  }

  /** How many devices that are gone are remembered. */
  get gone(): number {
    return this.#gone.size;
  }

  /** Notes that all flows were looked at. */
  endRound(): void {
    this.#round++;
    for (const [key, { round }] of this.#gone) {
      // They are in the order in which they went.
      if (round > this.#round - 2) return;
      this.#gone.delete(key);
    }
  }

  // ---- flows ---------------------------------------------------------------------------------

  /**
   * Notes that the verdict on a flow changed. The flow has the new one already; `before` is the old
   * reason.
   */
  turned(flow: number, before: number): void {
    const reason = this.#flows.get(flow, REASON);
    if (before === reasons.none && reason !== reasons.none) this.#note(flow, REFUSED);
    else if (before !== reasons.none && reason === reasons.none) {
      this.#counts.open(flow);
      this.opened(flow);
    }
  }

  /** Notes that a flow opens, and may pass. */
  opened(flow: number): void {
    if (this.log !== null && this.#describe(flow, IDLE)) this.log.opened(flow, this.#end);
  }

  /** Ends flows because the worker stops, at most `most`; returns whether none is left. */
  stop(most: number): boolean {
    const flows = this.#flows;
    this.#otherwise = GATEWAY_STOPPED;
    for (let left = most; left > 0 && this.#stoppedTo < flows.used; left--) {
      this.#stoppedTo += 1;
      if (flows.get(this.#stoppedTo, KIND) !== 0) flows.remove(this.#stoppedTo);
    }
    return this.#stoppedTo === flows.used;
  }

  /** Notes that a flow is about to be removed from the table. */
  #removed(flow: number, isForRoom: boolean): void {
    const flows = this.#flows;
    // A refused flow has ended before, or never began.
    if (flows.get(flow, REASON) !== reasons.none) return;
    if (flows.isForgotten(flow)) this.#note(flow, DEVICE_REMOVED);
    else if (isClosed(flows, flow)) this.#note(flow, isFinished(flows, flow) ? FINISHED : RESET);
    else if (flows.hasEnded(flow)) this.#note(flow, IDLE);
    else if (this.#isRefusedNow(flow)) this.#note(flow, REFUSED);
    else this.#note(flow, isForRoom ? NO_ROOM : this.#otherwise);
  }

  /** Whether the present rules refuse a flow whose verdict is from earlier rules. */
  #isRefusedNow(flow: number): boolean {
    const flows = this.#flows;
    const verdict = this.#verdict;
    const reason = this.#judge.ofFlow(flow, verdict);
    if (!verdict.isRenewed) return false;
    flows.set(flow, VERSION, this.#filter.version);
    flows.set(flow, REASON, reason);
    flows.set(flow, RULE, verdict.renewedRule);
    return reason !== reasons.none;
  }

  #note(flow: number, because: number): void {
    if (!this.#describe(flow, because)) return;
    this.#ended.add(this.#flows, this.#counts, flow, this.#end);
    if (this.log !== null) this.log.ended(flow, this.#end);
  }

  /** Fills in `#end`; false: another worker notes the flow. */
  #describe(flow: number, because: number): boolean {
    const flows = this.#flows;
    const end = this.#end;
    const opener = this.#deviceOf(flows.opener(flow), flows.get(flow, A_GENERATION));
    const target = this.#deviceOf(flows.target(flow), flows.get(flow, B_GENERATION));
    const payer = flows.opener(flow) === TUN_OWNER ? target : opener;
    if (payer === null || !payer.isHere) return false;
    end.slot = peerOf(flows.payer(flow));
    end.opener = opener?.shown ?? null;
    end.target = target?.shown ?? null;
    end.because = because;
    end.isAnswered = (flows.get(flow, STATE) & REPLIED) !== 0;
    this.#decide(flow, opener);
    return true;
  }

  /** Says what decided on a flow last. */
  #decide(flow: number, opener: Device | null): void {
    const flows = this.#flows;
    const end = this.#end;
    end.rule = null;
    // The rules of either side may have refused it.
    if (flows.get(flow, REASON) !== reasons.none && (flows.get(flow, STATE) & DOUBTFUL) !== 0) {
      end.by = BY_RULE;
      return;
    }
    const rule = flows.get(flow, RULE);
    if (opener === null) end.by = BY_NOTHING;
    else if (rule === NO_RULE) end.by = BY_DEFAULT;
    else {
      end.by = BY_RULE;
      // After a change of rules the number may belong to another rule.
      if (flows.get(flow, VERSION) === this.#filter.version)
        end.rule = this.#filter.idOf(rule, opener.rules);
    }
  }

  /** The device that an owner was in a generation; null: it is behind the TUN. */
  #deviceOf(owner: number, generation: number): Device | null {
    if (owner === TUN_OWNER) return null;
    if (this.#flows.generationOf(owner) === generation) return this.#devices[peerOf(owner)] ?? null;
    return this.#gone.get(keyOf(owner, generation))?.device ?? null;
  }
}

function keyOf(owner: number, generation: number): number {
  return owner * 0x1_0000_0000 + (generation >>> 0);
}
