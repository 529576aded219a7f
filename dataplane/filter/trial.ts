// What a change of rules and peers would do to flows and to packets, for people who ask before they
// make it. The filter judges by the rules as they would be after the change; nothing is changed.

import { reasons } from '../reasons.ts';
import type { InnerPacket } from '../wire/ip.ts';
import type { Filter, Scope, TriedRules } from './filter.ts';
import { type FlowTable, ownerOf } from './flow-table.ts';
import { FlowVerdict } from './flow-verdict.ts';
import { Judge, type JudgedBy } from './judge.ts';

/** A change that is tried. */
export interface TriedByFilter extends TriedRules {
  /** By slot of the peer; those that change. */
  readonly peers: ReadonlyMap<number, TriedSlot>;
}

/** A peer after a change. */
export interface TriedSlot {
  /** Whether the peer would lose the address that it has now. */
  readonly losesIpv4: boolean;
  readonly losesIpv6: boolean;
  /** The name of its rules; null: it would be removed. */
  readonly scope: string | null;
  /** The groups whose rules are asked after the rules of `scope`. */
  readonly groups: string;
}

/** What is in force. */
export interface TriedOn extends JudgedBy {
  readonly filter: Filter;
  readonly flows: JudgedBy['flows'] & Pick<FlowTable, 'opener' | 'target'>;
}

/** Judges flows and packets as they would be judged after a change. */
export class FilterTrial {
  readonly #now: TriedOn;
  readonly #judge: Judge;
  readonly #after: Filter;
  /** By peer slot; undefined: it is served neither now nor after the change. */
  readonly #scopes: readonly (Scope | undefined)[];
  readonly #removed = new Set<number>();
  /** Owners whose flows would end. */
  readonly #lost = new Set<number>();
  readonly #verdict = new FlowVerdict();

  constructor(now: TriedOn, { peers, ...rules }: TriedByFilter) {
    this.#now = now;
    const { filter, scopeOf } = now.filter.tried(rules);
    this.#after = filter;
    // Flows of a removed peer end whatever its rules say, so the peer keeps its present rules.
    this.#scopes = now.scopes.map((scope, slot) => {
      if (scope === undefined) return undefined;
      const after = peers.get(slot);
      return after === undefined || after.scope === null
        ? scopeOf(scope.name, scope.groups)
        : scopeOf(after.scope, after.groups);
    });
    this.#judge = new Judge({ ...now, filter, scopes: this.#scopes });
    for (const [slot, { losesIpv4, losesIpv6, scope }] of peers) {
      if (scope === null) this.#removed.add(slot);
      if (losesIpv4 || scope === null) this.#lost.add(ownerOf(slot, 4));
      if (losesIpv6 || scope === null) this.#lost.add(ownerOf(slot, 6));
    }
  }

  /** Whether a flow that passes now would end. */
  ends(flow: number): boolean {
    const { flows } = this.#now;
    if (this.#lost.has(flows.opener(flow)) || this.#lost.has(flows.target(flow))) return true;
    return this.#judge.ofFlow(flow, this.#verdict) !== reasons.none;
  }

  /** Whether the rules refuse a packet of a peer now, and would let it pass. */
  lets(packet: InnerPacket, slot: number): boolean {
    const [before, after] = [this.#now.scopes[slot], this.#scopes[slot]];
    if (before === undefined || after === undefined || this.#removed.has(slot)) return false;
    return (
      this.#now.filter.decide(packet, before) !== reasons.none &&
      this.#after.decide(packet, after) === reasons.none
    );
  }
}
