// Which services of one address the rules let a person use. Ports between two ends of the ranges of
// rules are decided alike, so one packet is judged for all of them, by the filter of the packet
// path. The rules of everyone are asked once, those of groups once for each set of groups, and
// those of a person where the person has some.

import {
  askedPacket,
  type ReasonName,
  type RuleConfig,
  type RuleTrial,
} from '../../../dataplane/index.ts';
import type { Pause } from '../../kit/process/pause.ts';
import { type AskedProtocol, numberedProtocol, PORT_MAX, PORT_MIN } from './protocol.ts';

/** Protocols without ports and without a name, in the words of answers. */
const OTHER = 'other';
/** One of them, in place of all: rules tell none of them from another. */
const SOME_OTHER = 47;
const SENDERS = { 4: '10.0.0.1', 6: 'fd00::1' } as const;
const SENDER_PORT = 49_152;

/** What one question may cost: it bounds the time of an answer to some seconds. */
const COST_MAX = 20_000_000;
/** What it costs to judge a packet; to copy a decision costs 1. */
const JUDGING = 20;
/** After how many parts others may work. */
const PARTS_AT_ONCE = 64;

/** Thrown where the rules name more ports than an answer can hold. */
export class TooManyPortsError extends Error {}

/** Some ports of a protocol; without ports both are 0. */
export interface Service {
  readonly protocol: AskedProtocol | typeof OTHER;
  readonly first: number;
  readonly last: number;
}

/** What becomes of packets to a service. */
export interface Decided extends Service {
  readonly reason: ReasonName;
  /** The rule that decides; null: none does. */
  readonly rule: string | null;
}

/** Which services are asked for; null: all of them. */
export interface AskedService {
  readonly protocol: AskedProtocol | null;
  readonly port: number | null;
}

/** The services that are asked for, each as wide as it can be. */
function servicesAsked({ protocol, port }: AskedService): readonly Service[] {
  if (protocol === null)
    return (['tcp', 'udp', 'icmp', OTHER] as const).flatMap((one) => widest(one, null));
  return widest(protocol, port);
}

function widest(protocol: Service['protocol'], port: number | null): readonly Service[] {
  if (protocol !== 'tcp' && protocol !== 'udp') return [{ protocol, first: 0, last: 0 }];
  return [{ protocol, first: port ?? PORT_MIN, last: port ?? PORT_MAX }];
}

/** Rules that match packets to an address, by whose they are. */
export interface RulesOfAddress {
  readonly ofEveryone: readonly RuleConfig[];
  readonly ofGroup: ReadonlyMap<string, readonly RuleConfig[]>;
  readonly ofUser: ReadonlyMap<string, readonly RuleConfig[]>;
}

/** What is asked, and of which rules. */
export interface ServicesContext {
  /** The trial holds the rules below. */
  readonly trial: RuleTrial;
  readonly rules: RulesOfAddress;
  readonly destination: string;
  readonly asked: AskedService;
  /** The port of the tunnel, which is refused at some addresses. */
  readonly listenPort: number;
  /** The numbers of groups, as the packet path takes them. */
  readonly numbersOf: (groupIds: readonly string[]) => string;
  readonly pause: Pause;
  /** What the question may cost; COST_MAX where it is left out. */
  readonly costMax?: number;
}

/** A person, as rules know people. */
interface Owner {
  readonly scope: string;
  readonly groups: string;
}

/** Nobody has this id, so only the rules of everyone are asked for it. */
const NOBODY = 'nobody';

/** Says what becomes of packets of people to the services of one address. */
export class ServicesOfAddress {
  readonly #context: ServicesContext;
  readonly #asked: readonly Service[];
  readonly #ofGroups = new Map<string, readonly Decided[]>();
  readonly #shared = new Set<readonly Decided[]>();
  #left: number;

  constructor(context: ServicesContext) {
    this.#context = context;
    this.#left = context.costMax ?? COST_MAX;
    this.#asked = servicesAsked(context.asked);
  }

  /** What becomes of packets of a person in some groups, in the order of protocols and ports. */
  async decide(userId: string, groupIds: readonly string[]): Promise<readonly Decided[]> {
    const { rules, numbersOf } = this.#context;
    // Groups without rules for the address make no difference between people.
    const asked = groupIds.filter((id) => rules.ofGroup.has(id));
    const groups = numbersOf(asked);
    const below = await this.#decideForGroups(asked, groups);
    const own = rules.ofUser.get(userId);
    return own === undefined ? below : this.#layer({ scope: userId, groups }, own, below);
  }

  /** Whether several people may have such decisions. */
  isShared(decided: readonly Decided[]): boolean {
    return this.#shared.has(decided);
  }

  async #decideForGroups(ids: readonly string[], groups: string): Promise<readonly Decided[]> {
    const known = this.#ofGroups.get(groups);
    if (known !== undefined) return known;
    const { ofEveryone, ofGroup } = this.#context.rules;
    const owner = { scope: NOBODY, groups };
    const decided =
      groups === ''
        ? await this.#layer(owner, ofEveryone, null)
        : await this.#layer(
            owner,
            ids.flatMap((id) => ofGroup.get(id) ?? []),
            await this.#decideForGroups([], ''),
          );
    this.#ofGroups.set(groups, decided);
    this.#shared.add(decided);
    return decided;
  }

  /**
   * Decides where one of some rules does. Elsewhere it is as `below` says, which is what the rules
   * that are asked later decide; null: there are none, and whatever decides is said.
   */
  async #layer(
    owner: Owner,
    rules: readonly RuleConfig[],
    below: readonly Decided[] | null,
  ): Promise<readonly Decided[]> {
    const ids = new Set(rules.map(({ id }) => id));
    const decided: Decided[] = [];
    let at = 0;
    for (const service of this.#asked)
      for (const [i, part] of this.#parts(service, rules).entries()) {
        if (i % PARTS_AT_ONCE === 0) await this.#context.pause();
        this.#pay(JUDGING);
        const { reason, rule } = this.#judge(owner, part);
        if (below === null || (rule !== null && ids.has(rule))) {
          add(decided, { ...part, reason, rule });
          continue;
        }
        at = firstMeeting(below, at, part);
        const copied = copy(decided, below, at, part);
        this.#pay(copied);
      }
    return decided;
  }

  #pay(cost: number): void {
    this.#left -= cost;
    if (this.#left < 0) throw new TooManyPortsError();
  }

  /** Parts of a service that some rules decide alike. */
  #parts(service: Service, rules: readonly RuleConfig[]): readonly Service[] {
    const { protocol, first, last } = service;
    if (first === last) return [service];
    const starts = new Set([first]);
    const start = (port: number): void => {
      if (port > first && port <= last) starts.add(port);
    };
    for (const rule of rules) {
      if (rule.portType !== protocol) continue;
      start(rule.portFirst);
      start(rule.portLast + 1);
    }
    if (protocol === 'udp') {
      start(this.#context.listenPort);
      start(this.#context.listenPort + 1);
    }
    const sorted = [...starts].sort((a, b) => a - b);
    return sorted.map((from, i) => ({
      protocol,
      first: from,
      last: (sorted[i + 1] ?? last + 1) - 1,
    }));
  }

  #judge(owner: Owner, { protocol, first }: Service) {
    const { trial, destination } = this.#context;
    return trial.judge(
      owner,
      askedPacket({
        source: SENDERS[destination.includes(':') ? 6 : 4],
        destination,
        protocol: protocol === OTHER ? SOME_OTHER : numberedProtocol(protocol),
        sourcePort: SENDER_PORT,
        destinationPort: first,
        begins: true,
      }),
    );
  }
}

function meet(a: Service, b: Service): boolean {
  return a.protocol === b.protocol && a.first <= b.last && b.first <= a.last;
}

/** Where the first decision about a part is. */
function firstMeeting(below: readonly Decided[], from: number, part: Service): number {
  let at = from;
  for (let one = below[at]; one !== undefined && !meet(one, part); one = below[at]) at += 1;
  return at;
}

/**
 * Copies the decisions about a part; how many. Those of one list are as long as they can be, so
 * only the first may be one with what was decided before.
 */
function copy(decided: Decided[], below: readonly Decided[], from: number, part: Service): number {
  let at = from;
  for (let one = below[at]; one !== undefined && meet(one, part); one = below[at]) {
    if (at === from) add(decided, within(one, part));
    else decided.push(within(one, part));
    at += 1;
  }
  return at - from;
}

/** A decision, as far as it is about some ports. */
function within(decided: Decided, { first, last }: Service): Decided {
  if (decided.first >= first && decided.last <= last) return decided;
  return {
    ...decided,
    first: Math.max(decided.first, first),
    last: Math.min(decided.last, last),
  };
}

/** Adds a decision, to the one before where that is the same. */
function add(decided: Decided[], next: Decided): void {
  const last = decided.at(-1);
  const isSame =
    last?.protocol === next.protocol &&
    last.last + 1 === next.first &&
    last.reason === next.reason &&
    last.rule === next.rule;
  if (isSame) decided[decided.length - 1] = { ...last, last: next.last };
  else decided.push(next);
}
