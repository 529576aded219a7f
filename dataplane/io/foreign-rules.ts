// Finds rules of other programs that stop packets of the tunnel. It reads a ruleset as `nft -j list
// ruleset` prints it, which includes the tables of iptables-nft, and follows three packets. The
// datagram of a device goes through the chains on the input hook. The first packet of a flow that a
// device opens, and the reply to it, go through the chains on the forward hook.
//
// Some conditions cannot be judged here: a match of iptables, a mark, a limit. A rule with such a
// condition never drops, never accepts a first packet, and accepts a reply. So every chain that is
// found stops all devices.

import { BlockList } from 'node:net';

/** The tunnel of one address family, as rules see it. */
export interface TunnelPath {
  readonly interfaceName: string;
  /** UDP port of the tunnel. */
  readonly listenPort: number;
  /** The interfaces by which packets leave and datagrams come; empty when they are not known. */
  readonly egress: readonly string[];
  readonly family: 'ipv4' | 'ipv6';
  /** The network of the devices. */
  readonly network: string;
  readonly prefixBits: number;
}

/** A chain that stops packets of the tunnel. */
export interface Obstacle {
  readonly family: string;
  readonly table: string;
  readonly chain: string;
  /** The program that made these rules, by their names. */
  readonly owner: 'docker' | 'ufw' | 'firewalld' | 'other';
  /**
   * What the chain stops: datagrams of devices, flows that they open to other hosts, or only the
   * replies.
   */
  readonly stops: 'datagrams' | 'opening' | 'answers';
}

type Json = Record<string, unknown>;
type Verdict = 'accept' | 'drop' | 'return' | 'may return' | null;
/** Null: it cannot be judged here. */
type Truth = boolean | null;

interface Chain {
  readonly family: string;
  readonly table: string;
  readonly name: string;
  readonly hook?: string;
  readonly policy?: string;
}

interface Packet {
  readonly iifname: readonly string[];
  readonly oifname: readonly string[];
  /** The field that contains the address of a device; null where none does. */
  readonly addressField: 'saddr' | 'daddr' | null;
  /** Its UDP destination port; null where it may have any protocol and port. */
  readonly udpPort: number | null;
  readonly state: 'new' | 'established';
  readonly path: TunnelPath;
}

/** How deep chains may call each other; nft allows 16 levels. */
const DEPTH_MAX = 16;

/** Finds the chains that stop packets of the tunnel, in a ruleset of nft in JSON. */
export function findObstacles(ruleset: unknown, path: TunnelPath): Obstacle[] {
  const rules = new Ruleset(ruleset);
  const tun = [path.interfaceName];
  const opening: Packet = {
    iifname: tun,
    oifname: path.egress,
    addressField: 'saddr',
    udpPort: null,
    state: 'new',
    path,
  };
  const answer: Packet = {
    ...opening,
    iifname: path.egress,
    oifname: tun,
    addressField: 'daddr',
    state: 'established',
  };
  const datagram: Packet = {
    ...opening,
    iifname: path.egress,
    oifname: [],
    addressField: null,
    udpPort: path.listenPort,
  };
  const tried: [hook: string, stops: Obstacle['stops'], packet: Packet][] = [
    ['forward', 'opening', opening],
    ['forward', 'answers', answer],
  ];
  if (path.egress.length > 0) tried.push(['input', 'datagrams', datagram]);
  const obstacles = new Map<Chain, Obstacle>();
  for (const [hook, stops, packet] of tried)
    for (const chain of rules.chainsOn(hook, path.family)) {
      // One obstacle for each chain is enough; what it stops first is reported.
      if (obstacles.has(chain) || !rules.stops(chain, packet)) continue;
      const { family, table, name } = chain;
      obstacles.set(chain, { family, table, chain: name, owner: rules.ownerOf(chain), stops });
    }
  return [...obstacles.values()];
}

class Ruleset {
  readonly #chains: readonly Chain[];
  readonly #rules = new Map<string, Json[][]>();

  constructor(ruleset: unknown) {
    const entries = listOf(recordOf(ruleset)['nftables']).map(recordOf);
    this.#chains = entries.flatMap((entry) =>
      'chain' in entry ? [recordOf(entry['chain']) as unknown as Chain] : [],
    );
    for (const entry of entries) {
      if (!('rule' in entry)) continue;
      const { family, table, chain, expr } = recordOf(entry['rule']);
      const key = `${String(family)} ${String(table)} ${String(chain)}`;
      this.#rules.set(key, [...(this.#rules.get(key) ?? []), listOf(expr).map(recordOf)]);
    }
  }

  chainsOn(hook: string, family: TunnelPath['family']): readonly Chain[] {
    const families = ['inet', family === 'ipv4' ? 'ip' : 'ip6'];
    return this.#chains.filter((chain) => chain.hook === hook && families.includes(chain.family));
  }

  ownerOf({ family, table, hook }: Chain): Obstacle['owner'] {
    if (table === 'firewalld') return 'firewalld';
    const names = this.#chains
      .filter((chain) => chain.family === family && chain.table === table)
      .map(({ name }) => name);
    // Docker has no rules for packets to the host itself.
    if (hook === 'forward' && names.includes('DOCKER-USER')) return 'docker';
    return names.some((name) => /^ufw6?-/.test(name)) ? 'ufw' : 'other';
  }

  stops(chain: Chain, packet: Packet): boolean {
    const verdict = this.#walk(chain, chain.name, packet, 0);
    return verdict === 'drop' || (verdict !== 'accept' && chain.policy === 'drop');
  }

  /** The verdict of a chain; null where it has none. */
  #walk(base: Chain, name: string, packet: Packet, depth: number): Verdict {
    if (depth > DEPTH_MAX) return null;
    let mayBeBack = false;
    for (const expressions of this.#rules.get(`${base.family} ${base.table} ${name}`) ?? []) {
      const verdict = this.#judge(base, expressions, packet, depth);
      if (verdict === 'return') return null;
      if (verdict === 'may return') mayBeBack = true;
      else if (verdict === 'drop' && mayBeBack) return null;
      else if (verdict !== null) return verdict;
    }
    return null;
  }

  #judge(base: Chain, expressions: readonly Json[], packet: Packet, depth: number): Verdict {
    let isKnown = true;
    for (const expression of expressions) {
      const found = this.#verdictOf(base, expression, packet, depth);
      if (found !== undefined) {
        if (isKnown) return found;
        if (found === 'return') return 'may return';
        // Under a condition that cannot be judged, only a reply counts as accepted.
        return found === 'accept' && packet.state === 'established' ? 'accept' : null;
      }
      const truth = holds(expression, packet);
      if (truth === false) return null;
      if (truth === null) isKnown = false;
    }
    return null;
  }

  /** The verdict of an expression; undefined where it has none. */
  #verdictOf(base: Chain, expression: Json, packet: Packet, depth: number): Verdict | undefined {
    if ('accept' in expression) return 'accept';
    if ('drop' in expression || 'reject' in expression) return 'drop';
    if ('return' in expression) return 'return';
    const target = recordOf(expression['jump'] ?? expression['goto'])['target'];
    if (typeof target === 'string') {
      const verdict = this.#walk(base, target, packet, depth + 1);
      // A chain that was reached by goto does not return: without a verdict the policy decides.
      return 'goto' in expression && verdict === null ? 'return' : verdict;
    }
    if (!('vmap' in expression)) return undefined;
    const { key, data } = recordOf(expression['vmap']);
    for (const pair of listOf(recordOf(data)['set'])) {
      const [element, verdict] = listOf(pair);
      if (isOneOf(key, element, packet) === true)
        return this.#verdictOf(base, recordOf(verdict), packet, depth);
    }
    return undefined;
  }
}

/** Whether the rule goes on after an expression. */
function holds(expression: Json, packet: Packet): Truth {
  if ('match' in expression) {
    const { op, left, right } = recordOf(expression['match']);
    const truth = isOneOf(left, right, packet);
    return op === '!=' && truth !== null ? !truth : truth;
  }
  const isNeutral = ['counter', 'log', 'mangle', 'notrack'].some((name) => name in expression);
  // A map of verdicts without an entry for this packet lets the rule go on as well.
  return isNeutral || 'vmap' in expression ? true : null;
}

/** Whether the left side of a match has the value, or one of the values, on its right side. */
function isOneOf(left: unknown, right: unknown, packet: Packet): Truth {
  const set = recordOf(right)['set'];
  const values = Array.isArray(set) ? set : listOf(right).length > 0 ? listOf(right) : [right];
  const truths = values.map((value: unknown) => isValue(left, value, packet));
  return truths.includes(true) || (truths.includes(null) ? null : false);
}

function isValue(left: unknown, value: unknown, packet: Packet): Truth {
  const { meta, ct, payload } = recordOf(left);
  const key = recordOf(meta)['key'];
  if (typeof value === 'string' && !value.startsWith('@')) {
    if (key === 'iifname' || key === 'iif') return isNamed(packet.iifname, value);
    if (key === 'oifname' || key === 'oif') return isNamed(packet.oifname, value);
    if (key === 'nfproto') return value === packet.path.family;
    if (recordOf(ct)['key'] === 'state') return value === packet.state;
  }
  const { protocol, field } = recordOf(payload);
  if ((protocol === 'ip' || protocol === 'ip6') && field === packet.addressField)
    return isInside(value, packet.path);
  if (packet.udpPort === null) return null;
  if (key === 'l4proto' || field === 'protocol' || field === 'nexthdr') return value === 'udp';
  if (field !== 'dport') return null;
  return (protocol === 'udp' || protocol === 'th') && isPort(packet.udpPort, value);
}

function isPort(port: number, value: unknown): Truth {
  if (typeof value === 'number') return value === port;
  const [first, last] = listOf(recordOf(value)['range']);
  if (typeof first !== 'number' || typeof last !== 'number') return null;
  return first <= port && port <= last;
}

function isNamed(names: readonly string[], pattern: string): boolean {
  return names.some((name) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/** Whether a network contains all devices; one with only some of them does not count. */
function isInside(value: unknown, { network, prefixBits, family }: TunnelPath): Truth {
  const { addr, len } = recordOf(recordOf(value)['prefix']);
  if (typeof addr !== 'string' || typeof len !== 'number')
    return typeof value === 'string' && !value.startsWith('@') ? false : null;
  if (addr.includes(':') !== (family === 'ipv6')) return false;
  const list = new BlockList();
  list.addSubnet(addr, len, family);
  return len <= prefixBits && list.check(network, family);
}

function recordOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
