// A world in virtual time: gateways and clients on a link that can lose, reorder, duplicate and
// delay, and that fragments large datagrams or drops them. Nothing sleeps: the clock jumps to the
// next deadline, of the link or of a node. Randomness comes from a seed, so that every run can be
// repeated; seeded-test.ts prints it.

import process from 'node:process';
import type {
  Amendment,
  KeyHandle,
  MessageLimits,
  NetworkConfig,
  PeerConfig,
  PlacedPeer,
  RuleConfig,
  Sample,
} from '../../../dataplane/contract.ts';
import { ConfigInForce, type TriedChange } from '../../../dataplane/diff.ts';
import { type Batches, TypeScriptEngine } from '../../../dataplane/io/engine.ts';
import { batchesOf } from '../../../dataplane/memory/batches.ts';
import { TunnelClient } from '../../../dataplane/memory/client.ts';
import { PipelineNode, type Substituted } from '../../../dataplane/memory/node.ts';
import type { Random } from '../../../dataplane/noise/handshake.ts';
import { joinSamples } from '../../../dataplane/worker/sample.ts';
import type { Primitives } from '../../../dataplane/noise/primitives.ts';
import type { Endpoint } from '../../../dataplane/wire/address.ts';
import { implementations } from './native.ts';
import { address, udp } from './packets.ts';
import { SEED } from './seed.ts';

export { randomBytes } from '../../../dataplane/memory/surroundings.ts';

/** For fast-check: the same cases in every run; it prints seed and path of a case that fails. */
export const SEEDED = { seed: 20_261_120 } as const;

/** Message types, the first byte of a message. */
export const INITIATION = 1;
export const RESPONSE = 2;
export const COOKIE = 3;
export const DATA = 4;

/** So many sources of chance has each seed before those of the next begin. */
const NUMBERS_PER_SEED = 1_000;

/** Chance that SEED chooses, for what no world holds: of each number, others draw other bytes. */
export function chance(number: number): Random {
  return seededRandom(number + NUMBERS_PER_SEED * (SEED - 1));
}

/** Bytes from a seed (xorshift32): good enough for indices, never for secrets. */
export function seededRandom(seed: number): Random {
  let state = (seed * 2654435761) >>> 0 || 1;
  return (bytes) => {
    for (let i = 0; i < bytes.length; i++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      state >>>= 0;
      bytes[i] = state >>> 11;
    }
  };
}

// ---- the world -----------------------------------------------------------------------------

/** What the link does to datagrams; chances between 0 and 1. */
export interface LinkOptions {
  delayMs: number;
  loss: number;
  duplication: number;
  /** Further delay, up to this much, that puts datagrams out of order. */
  jitterMs: number;
  /** The largest IP packet that goes in one piece. */
  mtu: number;
  /** Whether larger packets arrive in fragments, as senders ask (they set no DF). */
  passesFragments: boolean;
}

/** A datagram on the link: sent at, or arriving at, `at`. */
export interface Flight {
  at: number;
  order: number;
  bytes: Uint8Array;
  from: Endpoint;
  to: Endpoint;
}

/** A sender and receiver of datagrams. */
interface Participant {
  endpoint: Endpoint;
  receive(bytes: Uint8Array, from: Endpoint): void;
  nextTimeout(): number;
  expire(): void;
}

/** All nodes and the link between them. */
export class World {
  now = 1_000;
  /** Unix time at `now` 0. */
  epochMs = Date.UTC(2026, 0, 1);
  readonly link: LinkOptions = {
    delayMs: 5,
    loss: 0,
    duplication: 0,
    jitterMs: 0,
    mtu: 1_500,
    passesFragments: true,
  };
  /** Every datagram that was sent, also lost ones. */
  readonly wire: Flight[] = [];
  /** Loses the datagrams for which it returns true. */
  loses: (flight: Flight) => boolean = () => false;
  /** How many bytes of datagrams the link takes before it loses some. */
  sendRoom: () => number = () => Number.POSITIVE_INFINITY;
  readonly random: Random;
  /** Whose turn it is among the workers of a gateway; apart, so that it changes nothing else. */
  readonly turns: Random;
  readonly #seed: number;
  readonly #participants: Participant[] = [];
  #flights: Flight[] = [];
  #order = 0;

  constructor(seed = SEED) {
    this.random = seededRandom(seed);
    this.turns = seededRandom(seed + 1);
    this.#seed = seed;
  }

  get wallMs(): number {
    return this.epochMs + this.now;
  }

  /** The randomness of a further worker: with it, the others draw what they draw without it. */
  randomOf(worker: number): Random {
    return seededRandom(this.#seed + 1_000 * worker);
  }

  addNode(options: NodeOptions): Node {
    const node = new Node(this, options);
    this.#participants.push(node);
    return node;
  }

  addClient(options: ClientOptions): Client {
    const client = new Client(this, options);
    this.#participants.push(client);
    return client;
  }

  /** Removes a node, as a crash does: it sends and receives nothing any more. */
  remove(participant: Node | Client): void {
    this.#participants.splice(this.#participants.indexOf(participant), 1);
  }

  /** Puts a datagram on the link. */
  transmit(bytes: Uint8Array, from: Endpoint, to: Endpoint): void {
    const flight = { at: this.now, order: this.#order++, bytes, from, to };
    this.wire.push(flight);
    if (this.loses(flight) || !this.#passes(bytes.length, to)) return;
    this.#launch(flight);
    if (this.#chance() < this.link.duplication) this.#launch(flight);
  }

  /** Whether a datagram arrives. Its fragments are lost one by one, and it needs them all. */
  #passes(length: number, { address: to }: Endpoint): boolean {
    const { loss, mtu, passesFragments } = this.link;
    const fragments = fragmentsOf(length, mtu, to.includes(':'));
    if (fragments > 1 && !passesFragments) return false;
    for (let i = 0; i < fragments; i++) if (this.#chance() < loss) return false;
    return true;
  }

  #launch(flight: Flight): void {
    const at = this.now + this.link.delayMs + this.#chance() * this.link.jitterMs;
    this.#flights.push({ ...flight, at, order: this.#order++ });
  }

  /** What was sent, of one type (0: any) and by one node (left out: by any). */
  sent(type: number, by?: { readonly endpoint: Endpoint }): Flight[] {
    return this.wire.filter(
      (flight) =>
        (type === 0 || flight.bytes[0] === type) &&
        (by === undefined || isSame(flight.from, by.endpoint)),
    );
  }

  /** Lets time pass, jumping from deadline to deadline. */
  run(durationMs: number): void {
    const end = this.now + durationMs;
    for (;;) {
      let next = Number.POSITIVE_INFINITY;
      for (const flight of this.#flights) next = Math.min(next, flight.at);
      for (const participant of this.#participants)
        next = Math.min(next, participant.nextTimeout());
      if (next > end) break;
      this.now = Math.max(this.now, next);
      this.#deliver();
      for (const participant of this.#participants) participant.expire();
    }
    this.now = end;
  }

  #deliver(): void {
    const due = this.#flights
      .filter((flight) => flight.at <= this.now)
      .sort((a, b) => a.at - b.at || a.order - b.order);
    this.#flights = this.#flights.filter((flight) => flight.at > this.now);
    for (const flight of due) {
      const receiver = this.#participants.find(({ endpoint }) => isSame(endpoint, flight.to));
      receiver?.receive(flight.bytes.slice(), flight.from);
    }
  }

  #chance(): number {
    const bytes = new Uint8Array(4);
    this.random(bytes);
    return new DataView(bytes.buffer).getUint32(0) / 2 ** 32;
  }
}

/** IP packets that carry a UDP payload over a link. */
function fragmentsOf(length: number, mtu: number, isIpv6: boolean): number {
  const payload = 8 + length;
  const room = mtu - (isIpv6 ? 40 : 20);
  if (payload <= room) return 1;
  // Fragments end at multiples of 8; over IPv6 each has a header of its own.
  return Math.ceil(payload / ((room - (isIpv6 ? 8 : 0)) & ~7));
}

function isSame(a: Endpoint, b: Endpoint): boolean {
  return a.port === b.port && a.address === b.address;
}

// ---- an engine that counts its keys --------------------------------------------------------

/** The keys with which a keypair sends. */
export interface SendingKey {
  readonly send: Uint8Array;
  readonly remoteIndex: number;
}

/** The TypeScript engine, which also counts its keys and shows the latest ones. */
export class WatchedEngine extends TypeScriptEngine {
  latestKey: SendingKey | null = null;
  readonly #live = new Set<string>();

  get liveKeys(): number {
    return this.#live.size;
  }

  override installKey(
    send: Uint8Array,
    receive: Uint8Array,
    remoteIndex: number,
  ): KeyHandle | null {
    const handle = super.installKey(send, receive, remoteIndex);
    this.latestKey = { send: send.slice(), remoteIndex };
    if (handle !== null) this.#live.add(`${handle.slot}/${handle.generation}`);
    return handle;
  }

  override removeKey(slot: number, generation: number): void {
    super.removeKey(slot, generation);
    this.#live.delete(`${slot}/${generation}`);
  }
}

// ---- a gateway -----------------------------------------------------------------------------

export interface NodeOptions {
  endpoint: Endpoint;
  /**
   * The own address of the gateway in its networks, a /24 and a /64; null switches a family off.
   */
  ipv4?: string | null;
  ipv6?: string | null;
  hasTun?: boolean;
  defaultAction?: 'accept' | 'drop';
  allowsMetadata?: boolean;
  primitives?: Primitives;
  privateKey?: Uint8Array;
  timestampFloorMs?: number;
  /** How much one key may send; the usual limit if left out. */
  limits?: MessageLimits;
  /**
   * How many flows are remembered. Left out: enough for most tests, because many of them make
   * gateways, and large tables take more time than what is tested.
   */
  flows?: number;
  /** How many peers it can have; left out: enough for most tests, as with flows. */
  peers?: number;
  /** How many workers it has; see `PipelineNode`. */
  workers?: number;
  choose?: (count: number) => number;
  dawdles?: () => boolean;
  openEgress?: (batches: Batches, peers: number) => Substituted;
}

const FLOWS = 8_192;
/** Every implementation makes the same messages; the tests of `noise` compare them. */
const fastest = implementations.at(-1)![1];
const PEERS = 2_048;
/** Room for a full batch, and more. */
const RING_BYTES = 256 * 1024;

/** A gateway that keeps what comes out at its TUN. */
export class Node extends PipelineNode<WatchedEngine> implements Participant {
  /** Packets that came out at the TUN. */
  readonly delivered: Uint8Array[];
  readonly #inForce = new ConfigInForce();

  constructor(world: World, options: NodeOptions) {
    const { ipv4 = '10.0.0.1', ipv6 = 'fd00::1', limits, ...rest } = options;
    const delivered: Uint8Array[] = [];
    super(world, {
      hasTun: true,
      workers: WORKERS,
      choose: (count) => chooseAmong(world.turns, count),
      randomOf: (worker) => world.randomOf(worker),
      defaultAction: 'accept',
      allowsMetadata: false,
      timestampFloorMs: 0,
      primitives: fastest,
      flows: FLOWS,
      peers: PEERS,
      ringBytes: RING_BYTES,
      batchesOf,
      ...rest,
      mtu: 1420,
      ipv4: ipv4 === null ? null : network(ipv4, 24),
      ipv6: ipv6 === null ? null : network(ipv6, 64),
      makeEngine: (primitives, endpoints, mtu, links, extras) =>
        new WatchedEngine(primitives, endpoints, mtu, links, {
          ...extras,
          ...(limits === undefined ? {} : { limits }),
        }),
      deliver: (packet) => delivered.push(packet),
    });
    this.delivered = delivered;
  }

  /** Makes a configuration the desired one. */
  apply(peers: readonly PeerConfig[], rules: Record<string, readonly RuleConfig[]> = {}): void {
    const desired = {
      peers: new Map(peers.map((peer) => [peer.publicKey, peer])),
      rules: new Map(Object.entries(rules)),
    };
    this.change(this.#inForce.replace(desired));
  }

  /** What an amendment would change of what is in force, at the moment of each call. */
  trial(amendment: Amendment): () => TriedChange {
    return this.#inForce.trial(amendment);
  }

  /** The amendment by which `apply` would put a configuration in force. */
  amendmentTo(
    peers: readonly PeerConfig[],
    rules: Record<string, readonly RuleConfig[]> = {},
  ): Amendment {
    return this.#inForce.amendmentTo({
      peers: new Map(peers.map((peer) => [peer.publicKey, peer])),
      rules: new Map(Object.entries(rules)),
    });
  }

  sample(): Sample {
    return joinSamples(this.workers.map(({ pipeline }) => pipeline.sample()));
  }

  drops(): Readonly<Record<string, number>> {
    return this.sample().drops;
  }
}

/** How many workers gateways have where a test does not say: `WORKERS=2 npx ava …`. */
export const WORKERS = Number(process.env['WORKERS'] ?? 1);

/** One of so many. */
export function chooseAmong(random: Random, count: number): number {
  if (count === 1) return 0;
  const bytes = new Uint8Array(2);
  random(bytes);
  return new DataView(bytes.buffer).getUint16(0) % count;
}

function network(text: string, prefixBits: number): NetworkConfig {
  return { network: address(text), prefixBits, address: address(text) };
}

// ---- a client ------------------------------------------------------------------------------

export interface ClientOptions {
  endpoint: Endpoint;
  primitives?: Primitives;
  privateKey?: Uint8Array;
}

/** A client that keeps what arrives. */
export class Client extends TunnelClient<WatchedEngine> implements Participant {
  /** Inner packets, without their padding. */
  readonly delivered: Uint8Array[];

  constructor(world: World, options: ClientOptions) {
    const delivered: Uint8Array[] = [];
    super(world, {
      primitives: fastest,
      ...options,
      makeEngine: (primitives, endpoints, mtu, links, extras) =>
        new WatchedEngine(primitives, endpoints, mtu, links, {
          ...extras,
          batches: batchesOf(0),
        }),
      deliver: (packet) => delivered.push(packet),
    });
    this.delivered = delivered;
  }
}

// ---- configurations ------------------------------------------------------------------------

export interface PeerFields {
  key: string;
  ipv4?: string | null;
  ipv6?: string | null;
  presharedKey?: Uint8Array;
  scope?: string;
  endpoint?: Endpoint;
  heardAtMs?: number;
}

/** The configuration of a peer; what is left out has usual values. */
export function peer(fields: PeerFields): PeerConfig {
  return {
    publicKey: fields.key,
    presharedKey: fields.presharedKey ?? new Uint8Array(32),
    ipv4: fields.ipv4 == null ? null : address(fields.ipv4),
    ipv6: fields.ipv6 == null ? null : address(fields.ipv6),
    scope: fields.scope ?? 'owner',
    resume:
      fields.endpoint === undefined
        ? null
        : { endpoint: fields.endpoint, heardAtMs: fields.heardAtMs ?? 0 },
  };
}

/** A peer in its place. */
export function placed(config: PeerConfig, slot = 0, generation = 1): PlacedPeer {
  return { ...config, slot, generation };
}

/** A rule; what is left out has usual values. `range` is a prefix, "10.0.0.0/8", or an address. */
export function rule(
  id: string,
  action: 'accept' | 'drop',
  range: string,
  ports?: { type: 'tcp' | 'udp' | 'icmp'; first: number; last?: number },
): RuleConfig {
  const [text, bits] = range.split('/') as [string, string | undefined];
  const bytes = address(text);
  return {
    id,
    action,
    address: bytes,
    prefixBits: bits === undefined ? bytes.length * 8 : Number(bits),
    portType: ports?.type ?? null,
    portFirst: ports?.first ?? 0,
    portLast: ports?.last ?? ports?.first ?? 65_535,
  };
}

/** Where the gateway of every simulation is. */
export const GATEWAY_ENDPOINT: Endpoint = { address: '192.0.2.1', port: 51820 };

/** The peer of a client: a gateway whose address it knows. */
export function gatewayPeer(gateway: Node | Client, presharedKey?: Uint8Array): PeerConfig {
  return peer({
    key: gateway.key,
    endpoint: gateway.endpoint,
    ...(presharedKey === undefined ? {} : { presharedKey }),
  });
}

export interface SceneOptions {
  psk?: Uint8Array;
  gateway?: Partial<NodeOptions>;
  client?: Partial<ClientOptions>;
}

/**
 * A gateway (10.0.0.1, fd00::1) and a client (10.0.0.2, fd00::2) that know each other; the client
 * knows the address of the gateway, but the gateway does not know that of the client.
 */
export function gatewayAndClient(
  seed = SEED,
  options: SceneOptions = {},
): { world: World; gateway: Node; client: Client } {
  const { world, gateway, clients } = gatewayAndClients(1, seed, options);
  return { world, gateway, client: clients[0]! };
}

/**
 * A gateway and several clients: 10.0.0.2, fd00::2 (scope "owner"), 10.0.0.3, fd00::3 and so on.
 */
export function gatewayAndClients(
  count: number,
  seed = SEED,
  options: SceneOptions = {},
): { world: World; gateway: Node; clients: Client[]; peers: PeerConfig[] } {
  const world = new World(seed);
  const gateway = world.addNode({ endpoint: GATEWAY_ENDPOINT, ...options.gateway });
  const clients = Array.from({ length: count }, (_, i) =>
    world.addClient({
      endpoint: { address: `198.51.100.${7 + i}`, port: 40_000 + i },
      ...options.client,
    }),
  );
  const presharedKey = options.psk ?? new Uint8Array(32);
  const peers = clients.map((client, i) =>
    peer({ key: client.key, ipv4: `10.0.0.${2 + i}`, ipv6: `fd00::${2 + i}`, presharedKey }),
  );
  gateway.apply(peers);
  for (const client of clients) client.addPeer(gatewayPeer(gateway, presharedKey));
  return { world, gateway, clients, peers };
}

/** A packet with a number in it, from the first of two gateways to the other. */
export function forth(i: number, size = 0): Uint8Array {
  return numbered('10.0.0.1', '10.1.0.1', i, size);
}

/** A packet with a number in it, from the second of two gateways to the first. */
export function back(i: number, size = 0): Uint8Array {
  return numbered('10.1.0.1', '10.0.0.1', i, size);
}

function numbered(source: string, destination: string, i: number, size: number): Uint8Array {
  return udp({ source, destination, data: `${i} `.padEnd(size, '.') });
}

/** Two gateways, 10.0.0.1 and 10.1.0.1, that know each other and their addresses. */
export function twoGateways(
  seed = SEED,
  options: Partial<NodeOptions> = {},
): { world: World; a: Node; b: Node } {
  const world = new World(seed);
  const a = world.addNode({ endpoint: GATEWAY_ENDPOINT, ...options });
  const endpoint = { address: '203.0.113.66', port: 666 };
  const b = world.addNode({ endpoint, ipv4: '10.1.0.1', ipv6: 'fd01::1', ...options });
  a.apply([peer({ key: b.key, ipv4: '10.1.0.1', ipv6: 'fd01::1', endpoint })]);
  b.apply([peer({ key: a.key, ipv4: '10.0.0.1', ipv6: 'fd00::1', endpoint: a.endpoint })]);
  return { world, a, b };
}

/**
 * Two tunnels without gateways that know each other; only the second knows the address of the
 * first.
 */
export function twoTunnels(
  seed = SEED,
  options: SceneOptions = {},
): { world: World; responder: Client; initiator: Client } {
  const world = new World(seed);
  const responder = world.addClient({ endpoint: GATEWAY_ENDPOINT, ...options.client });
  const endpoint = { address: '198.51.100.7', port: 40_000 };
  const initiator = world.addClient({ endpoint, ...options.client });
  const presharedKey = options.psk ?? new Uint8Array(32);
  responder.addPeer(peer({ key: initiator.key, ipv4: '10.0.0.2', ipv6: 'fd00::2', presharedKey }));
  initiator.addPeer(gatewayPeer(responder, presharedKey));
  return { world, responder, initiator };
}
