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
  readonly hook: 'forward' | 'input';
  readonly stops: Obstacle['stops'];
  /** By the name of a field: whether the packet has a value. Other fields may have any value. */
  readonly fields: Readonly<Record<string, (value: unknown) => Truth>>;
}

/** How deep chains may call each other; nft allows 16 levels. */
const DEPTH_MAX = 16;
/** Expressions that do not decide whether a rule goes on. */
const NEUTRAL = ['counter', 'log', 'mangle', 'notrack', 'vmap'];

/** Finds the chains that stop packets of the tunnel, in a ruleset of nft in JSON. */
export function findObstacles(ruleset: unknown, path: TunnelPath): Obstacle[] {
  const rules = new Ruleset(ruleset);
  const obstacles = new Map<Chain, Obstacle>();
  for (const packet of packetsOf(path))
    for (const chain of rules.chainsOn(packet.hook, path.family)) {
      // One obstacle for each chain is enough; what it stops first is reported.
      if (obstacles.has(chain) || !rules.stops(chain, packet)) continue;
      const { family, table, name } = chain;
      const owner = rules.ownerOf(chain);
      obstacles.set(chain, { family, table, chain: name, owner, stops: packet.stops });
    }
  return [...obstacles.values()];
}

function packetsOf(path: TunnelPath): Packet[] {
  const { egress, listenPort } = path;
  const tun = [path.interfaceName];
  const fields = (from: readonly string[], to: readonly string[], state: string) => ({
    'meta iif': isNamed(from),
    'meta iifname': isNamed(from),
    'meta oif': isNamed(to),
    'meta oifname': isNamed(to),
    'meta nfproto': isNamed([path.family]),
    'ct state': isNamed([state]),
  });
  const isUdp = isNamed(['udp']);
  const datagram = {
    ...fields(egress, [], 'new'),
    'meta l4proto': isUdp,
    'ip protocol': isUdp,
    'ip6 nexthdr': isUdp,
    'udp dport': isPort(listenPort),
    'th dport': isPort(listenPort),
    'tcp dport': () => false,
  };
  const devices = isInside(path);
  const opening = { ...fields(tun, egress, 'new'), 'ip saddr': devices, 'ip6 saddr': devices };
  const answer = {
    ...fields(egress, tun, 'established'),
    'ip daddr': devices,
    'ip6 daddr': devices,
  };
  return [
    { hook: 'forward', stops: 'opening', fields: opening },
    { hook: 'forward', stops: 'answers', fields: answer },
    ...(egress.length > 0
      ? [{ hook: 'input', stops: 'datagrams', fields: datagram } as const]
      : []),
  ];
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
        return found === 'accept' && packet.stops === 'answers' ? 'accept' : null;
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
  if (!('match' in expression)) return NEUTRAL.some((name) => name in expression) || null;
  const { op, left, right } = recordOf(expression['match']);
  const truth = isOneOf(left, right, packet);
  return op === '!=' && truth !== null ? !truth : truth;
}

/** Whether the left side of a match has the value, or one of the values, on its right side. */
function isOneOf(left: unknown, right: unknown, { fields }: Packet): Truth {
  const has = fields[nameOf(left)];
  const set = recordOf(right)['set'] ?? right;
  const truths = (Array.isArray(set) ? set : [set]).map((value: unknown) =>
    // The name of a set, whose members are elsewhere.
    typeof value === 'string' && value.startsWith('@') ? null : (has?.(value) ?? null),
  );
  return truths.includes(true) || (truths.includes(null) ? null : false);
}

/** What `nft list ruleset` calls it, as in `udp dport` or `ct state`. */
function nameOf(left: unknown): string {
  const { meta, ct, payload } = recordOf(left);
  const { protocol, field } = recordOf(payload);
  if (typeof protocol === 'string' && typeof field === 'string') return `${protocol} ${field}`;
  return `${meta === undefined ? 'ct' : 'meta'} ${String(recordOf(meta ?? ct)['key'])}`;
}

function isNamed(names: readonly string[]) {
  return (pattern: unknown): Truth => {
    if (typeof pattern !== 'string') return null;
    if (!pattern.endsWith('*')) return names.includes(pattern);
    return names.some((name) => name.startsWith(pattern.slice(0, -1)));
  };
}

function isPort(port: number) {
  return (value: unknown): Truth => {
    const [first, last] = listOf(recordOf(value)['range'] ?? [value, value]);
    if (typeof first !== 'number' || typeof last !== 'number') return null;
    return first <= port && port <= last;
  };
}

/** Whether a network contains all devices; one with only some of them does not count. */
function isInside({ network, prefixBits, family }: TunnelPath) {
  return (value: unknown): Truth => {
    const { addr, len } = recordOf(recordOf(value)['prefix']);
    if (typeof addr !== 'string' || typeof len !== 'number')
      return typeof value === 'string' ? false : null;
    if (addr.includes(':') !== (family === 'ipv6')) return false;
    const list = new BlockList();
    list.addSubnet(addr, len, family);
    return len <= prefixBits && list.check(network, family);
  };
}

function recordOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
