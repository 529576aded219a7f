// A second filter, slow and simple: what the documentation says, with lists, strings and objects.
// Random tests compare the real one with it.

import { groupScope, type RuleConfig, stagedScope } from '../../../dataplane/contract.ts';
import type { EndReason } from '../../../dataplane/filter/ended-flows.ts';
import type { ReasonName } from '../../../dataplane/reasons.ts';
import { PROTOCOL_TCP, PROTOCOL_UDP } from '../../../dataplane/wire/ip.ts';
import { address } from '../dataplane/packets.ts';
import {
  type Described,
  familyOf,
  isAgainst,
  isAlong,
  isRequest,
  isReturned,
  lifetimeOf,
  type Side,
} from './described.ts';

export type { Described, Side };

// ---- rules -----------------------------------------------------------------------------------

export interface SlowPacket {
  version: 4 | 6;
  destination: bigint;
  protocol: number;
  port: number;
}

export interface SlowVerdict {
  reason: ReasonName;
  /** Ids of the rules of the kind that decided. */
  rules: string[];
  /** Ids of the staged rules of which one would decide if all were enforced; left out: none. */
  staged?: string[];
}

export function addressValue(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

/** From the first address to the last one; kept, because there may be thousands of rules. */
interface Range {
  readonly first: bigint;
  readonly last: bigint;
}

const ranges = new WeakMap<RuleConfig, Range>();

function rangeOf(one: RuleConfig): Range {
  const known = ranges.get(one);
  if (known !== undefined) return known;
  const size = 1n << BigInt(one.address.length * 8 - one.prefixBits);
  const first = (addressValue(one.address) / size) * size;
  const range = { first, last: first + size - 1n };
  ranges.set(one, range);
  return range;
}

function covers(one: RuleConfig, packet: SlowPacket): boolean {
  if (one.address.length !== (packet.version === 4 ? 4 : 16)) return false;
  const { first, last } = rangeOf(one);
  return first <= packet.destination && packet.destination <= last;
}

/**
 * One scope, in the order of the documentation: accept with ports, drop with ports, accept, drop.
 */
function slowScope(rules: readonly RuleConfig[], packet: SlowPacket): SlowVerdict | null {
  const covering = rules.filter((one) => covers(one, packet));
  const withPorts = covering.filter((one) => one.portType !== null);
  const type = typeOf(packet);
  const matching = withPorts.filter(
    (one) =>
      one.portType === type &&
      (type === 'icmp' || (one.portFirst <= packet.port && packet.port <= one.portLast)),
  );
  const plain = covering.filter((one) => one.portType === null);
  for (const candidates of [matching, plain]) {
    for (const action of ['accept', 'drop'] as const) {
      const deciding = candidates.filter((one) => one.action === action);
      if (deciding.length > 0)
        return {
          reason: action === 'accept' ? 'none' : 'rule_drop',
          rules: deciding.map((one) => one.id),
        };
    }
  }
  return null;
}

function typeOf({ version, protocol }: SlowPacket): RuleConfig['portType'] {
  if (protocol === PROTOCOL_TCP) return 'tcp';
  if (protocol === PROTOCOL_UDP) return 'udp';
  return protocol === (version === 4 ? 1 : 58) ? 'icmp' : null;
}

/** `ofGroups`: the rules of all groups of the owner. */
export function slowJudge(
  own: readonly RuleConfig[],
  global: readonly RuleConfig[],
  defaultAction: 'accept' | 'drop',
  packet: SlowPacket,
  ofGroups: readonly RuleConfig[] = [],
): SlowVerdict {
  return (
    slowScope(own, packet) ??
    slowScope(ofGroups, packet) ??
    slowScope(global, packet) ?? {
      reason: defaultAction === 'accept' ? 'none' : 'default_drop',
      rules: [],
    }
  );
}

/** The rules that a packet may meet. */
export interface SlowRules {
  readonly own: readonly RuleConfig[];
  readonly ofGroups: readonly RuleConfig[];
  readonly global: readonly RuleConfig[];
}

/**
 * Ids of the staged rules of which one would decide if all were enforced. No rule that is enforced
 * is among those that decide then.
 */
export function slowStaged(
  enforced: SlowRules,
  staged: SlowRules,
  defaultAction: 'accept' | 'drop',
  packet: SlowPacket,
): string[] {
  const both = (name: keyof SlowRules): RuleConfig[] => [...enforced[name], ...staged[name]];
  const all = slowJudge(both('own'), both('global'), defaultAction, packet, both('ofGroups'));
  const ids = new Set(
    Object.values(staged).flatMap((list: RuleConfig[]) => list.map((one) => one.id)),
  );
  return all.rules.every((id) => ids.has(id)) ? all.rules : [];
}

// ---- flows -----------------------------------------------------------------------------------

/** A flow as the slow filter remembers it. */
export interface SlowFlow {
  packet: Described;
  opener: Side;
  target: Side;
  replied: boolean;
  established: boolean;
  ended: Set<'opener' | 'target'>;
  closed: boolean;
  endsAt: number;
  version: number;
  verdict: SlowVerdict;
  /** The target may be the opener. */
  isDoubtful: boolean;
  openedAt: number;
  /** When its last packet passed, or it was opened. */
  latestAt: number;
  /** Packets that passed: of the opener, and of the other side. */
  sent: number;
  replies: number;
}

/** A flow that has ended, as the slow filter knows it. */
export interface SlowEnd {
  readonly flow: Readonly<SlowFlow>;
  readonly because: EndReason;
}

const SECOND = 1_000;
const FREE: SlowVerdict = { reason: 'none', rules: [] };

/** Judges packets as the documentation says. */
export class SlowTracker {
  defaultAction: 'accept' | 'drop';
  global: readonly RuleConfig[] = [];
  readonly rules = new Map<string, readonly RuleConfig[]>();
  /** By peer: whose rules apply to it. */
  readonly scopes = new Map<number, string>();
  /** By owner: the numbers of the groups, as code units. */
  readonly groups = new Map<string, string>();
  flows: SlowFlow[] = [];
  /** What has ended, in the order in which that was noticed. */
  readonly ended: SlowEnd[] = [];
  version = 0;
  now = 0;
  /** By peer and family: until when it may have flows that nobody remembers. */
  readonly doubts = new Map<string, number>();
  /** How many verdicts were given in doubt. */
  doubted = 0;

  constructor(defaultAction: 'accept' | 'drop') {
    this.defaultAction = defaultAction;
  }

  /** Sets the rules of an owner; '': the global ones. */
  setRules(scope: string, rules: readonly RuleConfig[]): void {
    const before = scope === '' ? this.global : (this.rules.get(scope) ?? []);
    // From nothing to nothing is no change.
    if (before.length + rules.length === 0) return;
    if (scope === '') this.global = rules;
    else this.rules.set(scope, rules);
    this.version++;
  }

  setDefault(action: 'accept' | 'drop'): void {
    this.defaultAction = action;
    this.version++;
  }

  /** Sets the groups of an owner. */
  join(scope: string, groups: string): void {
    const isUsed = [...this.scopes.values()].includes(scope);
    if (isUsed && (this.groups.get(scope) ?? '') !== groups) this.version++;
    this.groups.set(scope, groups);
  }

  /** Moves a peer to another owner. */
  move(peer: number, scope: string): void {
    if (this.scopes.get(peer) !== scope) this.version++;
    this.scopes.set(peer, scope);
  }

  /** What happens to a packet, and which rules may count it. */
  judge(packet: Described): SlowVerdict {
    this.#removeEnded();
    return packet.from === 'tun' ? this.#fromTun(packet) : this.#fromPeer(packet, packet.from);
  }

  /** The flows that are alive and may pass, and which rules may have decided on each. */
  live(): { flow: SlowFlow; rules: readonly string[] }[] {
    return this.flows
      .map((flow) => ({ flow, verdict: this.#verdictNow(flow) }))
      .filter(({ flow, verdict }) => flow.endsAt > this.now && verdict.reason === 'none')
      .map(({ flow, verdict }) => ({ flow, rules: flow.opener === 'tun' ? [] : verdict.rules }));
  }

  /** Looks at all flows: which have ended, and which do the rules of now refuse. */
  sweep(): void {
    this.#removeEnded();
    for (const flow of this.flows) this.#verdictOn(flow);
  }

  /** Ends all flows, as a gateway that stops does. */
  stop(): void {
    while (this.flows[0] !== undefined)
      this.#remove(this.flows[0], closingOf(this.flows[0]) ?? 'gateway_stopped');
  }

  #removeEnded(): void {
    for (const flow of this.flows.filter(({ endsAt }) => endsAt <= this.now))
      this.#remove(flow, closingOf(flow) ?? 'idle');
  }

  #remove(flow: SlowFlow, because: EndReason): void {
    this.flows.splice(this.flows.indexOf(flow), 1);
    if (flow.verdict.reason === 'none') this.ended.push({ flow: { ...flow }, because });
  }

  /** The verdict of the rules alone. */
  byRules(packet: Described): ReasonName {
    return packet.from === 'tun' ? 'none' : this.#byRules(packet, packet.from).reason;
  }

  /** Forgets everything, as a restart does; the peers are known to have existed. */
  restart(): void {
    this.flows = [];
    for (const peer of this.scopes.keys())
      for (const family of [4, 6]) this.doubts.set(`${peer} ${family}`, this.now + 180 * SECOND);
  }

  /** Removes a peer, or its address. `family` is 4 or 6. */
  forget(peer: number, family: number): void {
    this.doubts.delete(`${peer} ${family}`);
    const isOf = (side: Side, packet: Described): boolean =>
      side === peer && familyOf(packet) === family;
    for (const flow of this.flows.filter(
      ({ opener, target, packet }) => isOf(opener, packet) || isOf(target, packet),
    ))
      this.#remove(flow, 'device_removed');
  }

  #fromPeer(packet: Described, peer: number): SlowVerdict {
    const byRules = (): SlowVerdict => this.#byRules(packet, peer);
    if (packet.quotes !== null) {
      const flow = this.flowOf(packet.quotes);
      if (flow === undefined || !isReturned(packet.quotes, packet)) return byRules();
      return this.#inFlow(flow, !isAlong(flow, packet.quotes));
    }
    if (packet.protocol === 58 || packet.protocol === 1) if (packet.echo === null) return byRules();
    const flow = this.flowOf(packet);
    if (flow === undefined || (isRequest(packet) && flow.closed)) {
      const verdict = byRules();
      if (verdict.reason === 'none' && packet.echo !== 'reply') {
        if (flow !== undefined) this.#remove(flow, closingOf(flow) ?? 'replaced');
        const { reason } = this.#open(packet, verdict);
        return { ...verdict, reason };
      }
      return verdict;
    }
    if (isRequest(packet) && !isAlong(flow, packet)) return byRules();
    const verdict = this.#inFlow(flow, isAlong(flow, packet));
    this.#note(flow, packet);
    return verdict;
  }

  /** The rules of an opener judge and count what it sends, but not what it receives. */
  #inFlow(flow: SlowFlow, along: boolean): SlowVerdict {
    const verdict = this.#verdictOn(flow);
    return along ? verdict : { reason: verdict.reason, rules: [] };
  }

  /** A flow that is refused from now on has ended; one that may pass again begins anew. */
  #verdictOn(flow: SlowFlow): SlowVerdict {
    const verdict = this.#verdictNow(flow);
    const before = flow.verdict.reason;
    flow.verdict = verdict;
    flow.version = this.version;
    if (before === 'none' && verdict.reason !== 'none')
      this.ended.push({ flow: { ...flow }, because: 'refused' });
    if (before !== 'none' && verdict.reason === 'none') {
      flow.openedAt = this.now;
      flow.latestAt = this.now;
      flow.sent = 0;
      flow.replies = 0;
    }
    return verdict;
  }

  #verdictNow(flow: SlowFlow): SlowVerdict {
    const { opener } = flow;
    if ((opener === 'tun' && !flow.isDoubtful) || flow.version === this.version)
      return flow.verdict;
    return this.#byTarget(flow, opener === 'tun' ? FREE : this.#byRules(flow.packet, opener));
  }

  /** In doubt the rules of the other side are asked too, as if it had opened the flow. */
  #byTarget({ isDoubtful, packet, target }: SlowFlow, verdict: SlowVerdict): SlowVerdict {
    if (!isDoubtful || target === 'tun' || verdict.reason !== 'none') return verdict;
    const { source, destination, sourcePort, destinationPort } = packet;
    const turned: Described = {
      ...packet,
      source: destination,
      destination: source,
      sourcePort: destinationPort,
      destinationPort: sourcePort,
    };
    const { reason } = this.#byRules(turned, target);
    if (reason !== 'none') this.doubted++;
    return { ...verdict, reason };
  }

  #fromTun(packet: Described): SlowVerdict {
    if (packet.quotes !== null) {
      const flow = this.flowOf(packet.quotes);
      if (flow === undefined || !isReturned(packet.quotes, packet)) return FREE;
      return { reason: this.#verdictOn(flow).reason, rules: [] };
    }
    if (packet.protocol === 58 || packet.protocol === 1) if (packet.echo === null) return FREE;
    const flow = this.flowOf(packet);
    const opens =
      isRequest(packet) || (packet.protocol !== PROTOCOL_TCP && packet.echo !== 'reply');
    if (flow === undefined) {
      return opens ? this.#open(packet, FREE) : FREE;
    }
    const { reason } = this.#verdictOn(flow);
    if (isRequest(packet) && (reason !== 'none' || flow.closed)) {
      this.#remove(flow, closingOf(flow) ?? 'replaced');
      return this.#open(packet, FREE);
    }
    this.#note(flow, packet);
    return { reason, rules: [] };
  }

  #byRules(packet: Described, peer: number): SlowVerdict {
    const owner = this.scopes.get(peer)!;
    const groups = (this.groups.get(owner) ?? '').split('').map((unit) => unit.charCodeAt(0));
    const rulesOf = (name: string): readonly RuleConfig[] => this.rules.get(name) ?? [];
    const asked = {
      version: familyOf(packet),
      destination: addressValue(address(packet.destination)),
      protocol: packet.protocol,
      port: packet.destinationPort,
    };
    const enforced = {
      own: rulesOf(owner),
      ofGroups: groups.flatMap((number) => rulesOf(groupScope(number))),
      global: this.global,
    };
    const staged = {
      own: rulesOf(stagedScope(owner)),
      ofGroups: groups.flatMap((number) => rulesOf(stagedScope(groupScope(number)))),
      global: rulesOf(stagedScope('')),
    };
    const { own, ofGroups, global } = enforced;
    return {
      ...slowJudge(own, global, this.defaultAction, asked, ofGroups),
      staged: slowStaged(enforced, staged, this.defaultAction, asked),
    };
  }

  /** The flow between these two sides that a packet belongs to, in either direction. */
  flowOf(packet: Described): SlowFlow | undefined {
    return this.flows.find((one) => isAlong(one, packet) || isAgainst(one.packet, packet));
  }

  #open(packet: Described, verdict: SlowVerdict): SlowVerdict {
    const doubtUntil = this.doubts.get(`${packet.to} ${familyOf(packet)}`) ?? 0;
    const flow: SlowFlow = {
      packet,
      opener: packet.from,
      target: packet.to,
      replied: false,
      established: false,
      ended: new Set(),
      closed: false,
      endsAt: 0,
      version: this.version,
      verdict,
      isDoubtful: doubtUntil > this.now && ![PROTOCOL_TCP, 1, 58].includes(packet.protocol),
      openedAt: this.now,
      latestAt: this.now,
      sent: 0,
      replies: 0,
    };
    flow.verdict = this.#byTarget(flow, { ...verdict, reason: 'none' });
    this.flows.push(flow);
    this.#note(flow, packet);
    return flow.verdict;
  }

  #note(flow: SlowFlow, packet: Described): void {
    const isTcp = packet.protocol === PROTOCOL_TCP;
    if (flow.verdict.reason !== 'none') {
      const lifetime = isTcp ? 120 * SECOND : lifetimeOf(packet);
      flow.endsAt = isTcp ? Math.max(flow.endsAt, this.now + lifetime) : this.now + lifetime;
      return;
    }
    const along = isAlong(flow, packet);
    if (!along) flow.replied = true;
    flow.latestAt = this.now;
    if (along) flow.sent++;
    else flow.replies++;
    if (!isTcp) {
      flow.endsAt = this.now + lifetimeOf(packet);
      return;
    }
    if (flow.closed) return;
    if (packet.flags.includes('F')) flow.ended.add(along ? 'opener' : 'target');
    if (packet.flags.includes('R') || flow.ended.size === 2) {
      flow.closed = true;
      flow.endsAt = this.now + 10 * SECOND;
      return;
    }
    if (along && flow.replied && !packet.flags.includes('S')) flow.established = true;
    flow.endsAt = this.now + (flow.established ? (2 * 60 + 4) * 60 * SECOND : 120 * SECOND);
  }
}

/** How a connection was closed; null: it is not. */
function closingOf({ closed, ended }: SlowFlow): EndReason | null {
  if (!closed) return null;
  return ended.size === 2 ? 'finished' : 'reset';
}
