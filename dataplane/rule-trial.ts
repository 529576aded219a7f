// Judges packets under rules that need not be in force, on the main thread: the rules as they would
// be after a change. It is the filter of the workers and their test of destinations, with tables of
// its own. It knows no flows, so it answers for a packet that opens one.

import type { Amendment, HostAddresses, PeerConfig, RuleConfig } from './contract.ts';
import { ConfigInForce } from './diff.ts';
import { Filter, type Scope } from './filter/filter.ts';
import { type ReasonName, reasonNames, reasons } from './reasons.ts';
import { Sanity, type SanityOptions } from './sanity.ts';
import { InnerPacket, parseInner } from './wire/ip.ts';
import { AllowedIps } from './wireguard/allowed-ips.ts';
import type { KnownPeer } from './wireguard/known-peer.ts';

/** What holds whatever the rules are. */
export interface TrialOptions extends SanityOptions {
  /** What happens to packets that no rule matches. */
  readonly defaultAction: RuleConfig['action'];
  readonly hostAddresses: HostAddresses;
}

/** What becomes of a packet. */
export interface TrialVerdict {
  /** Why it is refused; `none`: it passes. */
  readonly reason: ReasonName;
  /** The id of the rule that decides; null: none does. */
  readonly rule: string | null;
}

/** Rules that are tried. */
export class RuleTrial {
  readonly #rules = new ConfigInForce();
  readonly #filter: Filter;
  readonly #sanity: Sanity;
  readonly #packet = new InnerPacket();

  constructor(options: TrialOptions) {
    this.#filter = new Filter(options.defaultAction);
    this.#sanity = new Sanity(options, new AllowedIps<KnownPeer>());
    this.#sanity.setHostAddresses(options.hostAddresses);
  }

  /** Changes rules: by scope, then by id; an empty list: there is no such rule. */
  amend(rules: Amendment['rules']): void {
    const { scopes } = this.#rules.amend({ peers: new Map(), rules });
    for (const { name, compiled } of scopes) this.#filter.change(name, compiled);
  }

  /**
   * Judges a packet, from its IP header on, that a device sends whose owner has a scope and groups.
   * Its source address is not judged: it is taken for that of the device.
   */
  judge(
    { scope, groups = '' }: Pick<PeerConfig, 'scope' | 'groups'>,
    packet: Uint8Array,
  ): TrialVerdict {
    const held = this.#filter.hold(scope);
    this.#filter.join(held, groups);
    const reason = this.#reason(held, packet);
    const rule = this.#filter.idOf(this.#filter.matched, held);
    this.#filter.release(held);
    const isByRules = reason === reasons.none || reason === reasons.rule_drop;
    return { reason: reasonNames[reason]!, rule: isByRules ? rule : null };
  }

  #reason(scope: Scope, bytes: Uint8Array): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const unreadable = parseInner(view, 0, bytes.byteLength, this.#packet);
    if (unreadable !== reasons.none) return unreadable;
    const refused = this.#sanity.destination(this.#packet);
    return refused === reasons.none ? this.#filter.decide(this.#packet, scope) : refused;
  }
}
