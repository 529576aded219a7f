// A world in virtual time: gateways and clients joined by a link that can lose, reorder, duplicate
// and delay. Nothing sleeps: the clock jumps to the next deadline, of the link or of a node.
// Randomness comes from a seed, so that every run can be run again.

import nacl from 'tweetnacl';
import {
  DESCRIPTOR_WORDS,
  type GatewayConfig,
  type KeyHandle,
  LENGTH,
  type NetworkConfig,
  OFFSET,
  type PeerConfig,
  type RuleConfig,
  type Sample,
} from '../../dataplane/contract.ts';
import { diff, EMPTY_CONFIG } from './standing.ts';
import { TypeScriptEngine } from '../../dataplane/io/engine.ts';
import type { Random } from '../../dataplane/noise/handshake.ts';
import { type Primitives, portablePrimitives } from '../../dataplane/noise/primitives.ts';
import { Pipeline } from '../../dataplane/pipeline.ts';
import { reasonNames, reasons } from '../../dataplane/reasons.ts';
import { createEndpointTable, type Endpoint } from '../../dataplane/wire/address.ts';
import { InnerPacket, parseInner } from '../../dataplane/wire/ip.ts';
import type { Peer } from '../../dataplane/wireguard/peer.ts';
import { Receiver } from '../../dataplane/wireguard/receive.ts';
import { VIRTIO_HEADER_BYTES } from '../../dataplane/wire/virtio.ts';
import { Sender } from '../../dataplane/wireguard/send.ts';
import { endpointLayout, Tunnel } from '../../dataplane/wireguard/tunnel.ts';
import { address } from './packets.ts';

/** For fast-check: the same cases in every run; it prints seed and path of a case that fails. */
export const SEEDED = { seed: 20_261_120 } as const;

/** Message types, as they stand in the first byte. */
export const INITIATION = 1;
export const RESPONSE = 2;
export const COOKIE = 3;
export const DATA = 4;

/** Bytes from a seed (xorshift32): good enough to name indices, never to keep secrets. */
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

export function randomBytes(random: Random, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  random(bytes);
  return bytes;
}

// ---- the world -----------------------------------------------------------------------------

/** What the link does to datagrams; chances between 0 and 1. */
export interface LinkOptions {
  delayMs: number;
  loss: number;
  duplication: number;
  /** Further delay, up to this much, that puts datagrams out of order. */
  jitterMs: number;
}

/** A datagram on the link: sent at, or arriving at, `at`. */
export interface Flight {
  at: number;
  order: number;
  bytes: Uint8Array;
  from: Endpoint;
  to: Endpoint;
}

/** Whoever sends and receives datagrams. */
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
  readonly link: LinkOptions = { delayMs: 5, loss: 0, duplication: 0, jitterMs: 0 };
  /** Every datagram that was sent, also lost ones. */
  readonly wire: Flight[] = [];
  /** Loses the datagrams for which it returns true. */
  loses: (flight: Flight) => boolean = () => false;
  readonly random: Random;
  readonly #participants: Participant[] = [];
  #flights: Flight[] = [];
  #order = 0;

  constructor(seed = 1) {
    this.random = seededRandom(seed);
  }

  get wallMs(): number {
    return this.epochMs + this.now;
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

  /** Takes a node away, as a crash does: nothing of it is heard or moves any more. */
  remove(participant: Node | Client): void {
    this.#participants.splice(this.#participants.indexOf(participant), 1);
  }

  /** Puts a datagram on the link. */
  transmit(bytes: Uint8Array, from: Endpoint, to: Endpoint): void {
    const flight = { at: this.now, order: this.#order++, bytes, from, to };
    this.wire.push(flight);
    if (this.loses(flight) || this.#chance() < this.link.loss) return;
    this.#launch(flight);
    if (this.#chance() < this.link.duplication) this.#launch(flight);
  }

  #launch(flight: Flight): void {
    const at = this.now + this.link.delayMs + this.#chance() * this.link.jitterMs;
    this.#flights.push({ ...flight, at, order: this.#order++ });
  }

  /** What was sent, of one type (0: any) and by one node (left out: by anybody). */
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

function isSame(a: Endpoint, b: Endpoint): boolean {
  return a.port === b.port && a.address === b.address;
}

// ---- an engine that counts its keys --------------------------------------------------------

/** The TypeScript engine, which also tells how many keys it holds. */
export class WatchedEngine extends TypeScriptEngine {
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
  /** The gateway's own address in its networks, a /24 and a /64; null switches a family off. */
  ipv4?: string | null;
  ipv6?: string | null;
  hasTun?: boolean;
  defaultAction?: 'accept' | 'drop';
  primitives?: Primitives;
  privateKey?: Uint8Array;
  timestampFloorMs?: number;
}

/** A gateway: a pipeline on the TypeScript engine. */
export class Node implements Participant {
  endpoint: Endpoint;
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly engine: WatchedEngine;
  readonly pipeline: Pipeline;
  /** Packets that came out at the TUN. */
  readonly delivered: Uint8Array[] = [];
  readonly #world: World;
  #config: GatewayConfig = EMPTY_CONFIG;

  constructor(world: World, options: NodeOptions) {
    this.#world = world;
    this.endpoint = options.endpoint;
    this.privateKey = options.privateKey ?? randomBytes(world.random, 32);
    this.publicKey = nacl.scalarMult.base(this.privateKey);
    this.engine = new WatchedEngine(
      options.primitives ?? portablePrimitives,
      createEndpointTable(endpointLayout.total),
      1420,
      {
        sendDatagram: (bytes, to) => world.transmit(bytes, this.endpoint, to),
        writePacket: (packet) => this.delivered.push(packet),
      },
    );
    const { ipv4 = '10.0.0.1', ipv6 = 'fd00::1' } = options;
    this.pipeline = new Pipeline({
      engine: this.engine,
      identity: { privateKey: this.privateKey, publicKey: this.publicKey },
      random: world.random,
      timestampFloorMs: options.timestampFloorMs ?? 0,
      ipv4: ipv4 === null ? null : network(ipv4, 24),
      ipv6: ipv6 === null ? null : network(ipv6, 64),
      defaultAction: options.defaultAction ?? 'accept',
      listenPort: options.endpoint.port,
      mtu: 1420,
      hasTun: options.hasTun ?? true,
    });
  }

  get key(): string {
    return Buffer.from(this.publicKey).toString('base64');
  }

  /** Makes a configuration the desired one. */
  apply(peers: readonly PeerConfig[], rules: Record<string, readonly RuleConfig[]> = {}): void {
    const desired: GatewayConfig = {
      peers: new Map(peers.map((peer) => [peer.publicKey, peer])),
      rules: new Map(Object.entries(rules)),
    };
    this.pipeline.apply(diff(this.#config, desired), this.#world.now, this.#world.wallMs);
    this.#config = desired;
  }

  /** Packets leave the host through the TUN, in one batch. */
  send(...packets: Uint8Array[]): void {
    for (const packet of packets) this.engine.acceptPacket(packet);
    this.pipeline.outbound(this.#world.now, this.#world.wallMs);
  }

  /** A datagram arrives. */
  receive(bytes: Uint8Array, from: Endpoint): void {
    this.receiveAll([{ bytes, from }]);
  }

  /** Datagrams arrive in one batch. */
  receiveAll(datagrams: readonly { bytes: Uint8Array; from: Endpoint }[]): void {
    for (const { bytes, from } of datagrams)
      this.engine.acceptDatagram(bytes, address(from.address), from.port);
    this.pipeline.inbound(this.#world.now, this.#world.wallMs);
    this.engine.datagrams.count = 0;
  }

  nextTimeout(): number {
    return this.pipeline.nextTimeout(this.#world.now);
  }

  expire(): void {
    if (this.nextTimeout() <= this.#world.now)
      this.pipeline.expire(this.#world.now, this.#world.wallMs);
  }

  sample(): Sample {
    return this.pipeline.sample();
  }

  drops(): Readonly<Record<string, number>> {
    return this.sample().drops;
  }
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

/**
 * A tunnel alone, as a device has it: no filter, no networks; each packet goes to its first peer
 * whatever its addresses are, and whatever arrives is delivered. Its tables are open to tests.
 */
export class Client implements Participant {
  endpoint: Endpoint;
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly engine: WatchedEngine;
  readonly tunnel: Tunnel;
  readonly sender: Sender;
  readonly receiver: Receiver;
  /** Inner packets, without their padding. */
  readonly delivered: Uint8Array[] = [];
  readonly #world: World;
  readonly #drops = new Map<string, number>();

  constructor(world: World, options: ClientOptions) {
    this.#world = world;
    this.endpoint = options.endpoint;
    this.privateKey = options.privateKey ?? randomBytes(world.random, 32);
    this.publicKey = nacl.scalarMult.base(this.privateKey);
    this.engine = new WatchedEngine(
      options.primitives ?? portablePrimitives,
      createEndpointTable(endpointLayout.total),
      1420,
      { sendDatagram: (bytes, to) => world.transmit(bytes, this.endpoint, to), writePacket: null },
    );
    const identity = { privateKey: this.privateKey, publicKey: this.publicKey };
    const drop = (reason: number): void => this.#countDrop(reason);
    this.tunnel = new Tunnel(
      { engine: this.engine, identity, random: world.random, timestampFloorMs: 0, drop },
      {
        initiate: (peer, isRetry, now) => this.sender.initiate(peer, isRetry, now),
        keepalive: (peer, now) => this.sender.keepalive(peer, now),
        giveUp: (peer) => this.tunnel.dropStaged(peer, reasons.staged_expired),
        forgetKeys: (peer) => this.tunnel.forgetKeys(peer),
      },
    );
    this.sender = new Sender(this.tunnel);
    this.receiver = new Receiver(this.tunnel, this.sender);
  }

  #countDrop(reason: number): void {
    const name = reasonNames[reason]!;
    this.#drops.set(name, (this.#drops.get(name) ?? 0) + 1);
  }

  get key(): string {
    return Buffer.from(this.publicKey).toString('base64');
  }

  /** The first peer. */
  get peer(): Peer {
    return [...this.tunnel.peers.values()][0]!;
  }

  drops(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#drops);
  }

  addPeer(config: PeerConfig): Peer {
    return this.tunnel.addPeer(config)!;
  }

  /** Packets go to the first peer, in one batch. */
  send(...packets: Uint8Array[]): void {
    const { engine, tunnel, sender, peer } = this;
    tunnel.wallMs = this.#world.wallMs;
    for (const packet of packets) engine.acceptPacket(packet);
    const batch = engine.packets;
    for (let i = 0; i < batch.count; i++)
      sender.sendPacket(peer, batch, i, VIRTIO_HEADER_BYTES, this.#world.now);
    engine.seal(batch);
    for (let i = 0; i < batch.count; i++) sender.countSealed(peer, batch, i, this.#world.now);
    batch.count = 0;
  }

  receive(bytes: Uint8Array, from: Endpoint): void {
    this.receiveAll([{ bytes, from }]);
  }

  receiveAll(datagrams: readonly { bytes: Uint8Array; from: Endpoint }[]): void {
    const { engine, receiver } = this;
    const { now } = this.#world;
    this.tunnel.wallMs = this.#world.wallMs;
    for (const { bytes, from } of datagrams)
      engine.acceptDatagram(bytes, address(from.address), from.port);
    const batch = engine.datagrams;
    for (let i = 0; i < batch.count; i++) receiver.classify(batch, i, now);
    engine.open(batch);
    for (let i = 0; i < batch.count; i++) {
      if (receiver.accept(batch, i, now) !== null) this.#deliver(i);
    }
    batch.count = 0;
    receiver.takeInitiations(8, now);
  }

  #deliver(i: number): void {
    const { view, bytes, descriptors } = this.engine.datagrams;
    const at = i * DESCRIPTOR_WORDS;
    const offset = descriptors[at + OFFSET]!;
    const packet = new InnerPacket();
    const reason = parseInner(view, offset, descriptors[at + LENGTH]!, packet);
    const length = reason === reasons.none ? packet.length : descriptors[at + LENGTH]!;
    this.delivered.push(bytes.slice(offset, offset + length));
  }

  nextTimeout(): number {
    return this.receiver.waitingInitiations > 0 ? this.#world.now : this.tunnel.timers.nextDeadline;
  }

  expire(): void {
    this.tunnel.wallMs = this.#world.wallMs;
    this.tunnel.timers.expire(this.#world.now, 64);
    this.receiver.takeInitiations(8, this.#world.now);
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

/** A peer's configuration; what is left out is ordinary. */
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

/** A rule; what is left out is ordinary. `range` is a prefix, "10.0.0.0/8", or an address. */
export function rule(
  id: string,
  action: 'accept' | 'drop',
  range: string,
  ports?: { type: 'tcp' | 'udp'; first: number; last?: number },
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
 * knows where the gateway is, the gateway does not know where the client is.
 */
export function gatewayAndClient(
  seed = 1,
  options: SceneOptions = {},
): { world: World; gateway: Node; client: Client } {
  const { world, gateway, clients } = gatewayAndClients(1, seed, options);
  return { world, gateway, client: clients[0]! };
}

/**
 * The same with several clients: 10.0.0.2, fd00::2 (scope "owner"), 10.0.0.3, fd00::3 and so on.
 */
export function gatewayAndClients(
  count: number,
  seed = 1,
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

/** Two tunnels alone that know each other; only the second knows where the first is. */
export function twoTunnels(
  seed = 1,
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
