// A world in virtual time: pipelines joined by a link that can lose, reorder, duplicate and delay.
// Nothing sleeps: the clock jumps to the next deadline, of the link or of a pipeline. Randomness
// comes from a seed, so that every run can be run again.

import nacl from 'tweetnacl';
import {
  type GatewayConfig,
  type NetworkConfig,
  type PeerConfig,
  type RuleConfig,
  type Sample,
} from '../../dataplane/contract.ts';
import { diff, EMPTY_CONFIG } from '../../dataplane/diff.ts';
import { TypeScriptEngine } from '../../dataplane/io/engine.ts';
import type { Random } from '../../dataplane/noise/handshake.ts';
import { type Primitives, portablePrimitives } from '../../dataplane/noise/primitives.ts';
import { Pipeline } from '../../dataplane/pipeline.ts';
import { createEndpointTable, type Endpoint } from '../../dataplane/wire/address.ts';
import { endpointLayout } from '../../dataplane/wireguard/tunnel.ts';
import { address } from './packets.ts';

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

/** What the link does to datagrams; chances between 0 and 1. */
export interface LinkOptions {
  delayMs: number;
  loss: number;
  duplication: number;
  /** Further delay, up to this much, that puts datagrams out of order. */
  jitterMs: number;
}

interface Flight {
  at: number;
  order: number;
  bytes: Uint8Array;
  from: Endpoint;
  to: Endpoint;
}

/** All nodes and the link between them. */
export class World {
  now = 1_000;
  /** Unix time at `now` 0. */
  epochMs = Date.UTC(2026, 0, 1);
  readonly link: LinkOptions = { delayMs: 5, loss: 0, duplication: 0, jitterMs: 0 };
  /** Every datagram that was sent, for those who listen. */
  readonly wire: Flight[] = [];
  readonly random: Random;
  readonly #nodes: Node[] = [];
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
    this.#nodes.push(node);
    return node;
  }

  /** Puts a datagram on the link. */
  transmit(bytes: Uint8Array, from: Endpoint, to: Endpoint): void {
    const flight = { at: this.now, order: this.#order++, bytes, from, to };
    this.wire.push(flight);
    if (this.#chance() < this.link.loss) return;
    this.#launch(flight);
    if (this.#chance() < this.link.duplication) this.#launch(flight);
  }

  #launch(flight: Flight): void {
    const at = this.now + this.link.delayMs + this.#chance() * this.link.jitterMs;
    this.#flights.push({ ...flight, at, order: this.#order++ });
  }

  /** Lets time pass, jumping from deadline to deadline. */
  run(durationMs: number): void {
    const end = this.now + durationMs;
    for (;;) {
      const next = Math.min(
        ...this.#flights.map((flight) => flight.at),
        ...this.#nodes.map((node) => node.nextTimeout()),
      );
      if (next > end) break;
      this.now = Math.max(this.now, next);
      this.#deliver();
      for (const node of this.#nodes) node.expire();
    }
    this.now = end;
  }

  #deliver(): void {
    const due = this.#flights
      .filter((flight) => flight.at <= this.now)
      .sort((a, b) => a.at - b.at || a.order - b.order);
    this.#flights = this.#flights.filter((flight) => flight.at > this.now);
    for (const flight of due) {
      const node = this.#nodes.find((candidate) => candidate.isAt(flight.to));
      node?.receive(flight.bytes, flight.from);
    }
  }

  #chance(): number {
    const bytes = new Uint8Array(4);
    this.random(bytes);
    return new DataView(bytes.buffer).getUint32(0) / 2 ** 32;
  }
}

export interface NodeOptions {
  endpoint: Endpoint;
  ipv4?: string;
  ipv6?: string;
  hasTun?: boolean;
  defaultAction?: 'accept' | 'drop';
  primitives?: Primitives;
  privateKey?: Uint8Array;
}

/** One gateway or client: a pipeline on the TypeScript engine. */
export class Node {
  endpoint: Endpoint;
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly engine: TypeScriptEngine;
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
    this.engine = new TypeScriptEngine(
      options.primitives ?? portablePrimitives,
      createEndpointTable(endpointLayout.total),
      1420,
      {
        sendDatagram: (bytes, to) => world.transmit(bytes, this.endpoint, to),
        writePacket: (packet) => this.delivered.push(packet),
      },
    );
    this.pipeline = new Pipeline({
      engine: this.engine,
      identity: { privateKey: this.privateKey, publicKey: this.publicKey },
      random: world.random,
      ipv4: network(options.ipv4 ?? '10.0.0.1', 24),
      ipv6: network(options.ipv6 ?? 'fd00::1', 64),
      defaultAction: options.defaultAction ?? 'accept',
      listenPort: options.endpoint.port,
      hasTun: options.hasTun ?? true,
    });
  }

  get key(): string {
    return Buffer.from(this.publicKey).toString('base64');
  }

  isAt(endpoint: Endpoint): boolean {
    return endpoint.address === this.endpoint.address && endpoint.port === this.endpoint.port;
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

  /** A packet leaves the host through the TUN. */
  send(packet: Uint8Array): void {
    this.engine.acceptPacket(packet);
    this.pipeline.outbound(this.#world.now, this.#world.wallMs);
  }

  /** A datagram arrives. */
  receive(bytes: Uint8Array, from: Endpoint): void {
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

export function randomBytes(random: Random, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  random(bytes);
  return bytes;
}

function network(text: string, prefixBits: number): NetworkConfig {
  return { network: address(text), prefixBits, address: address(text) };
}

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

/**
 * A gateway (10.0.0.1, fd00::1) and a client (10.0.0.2, fd00::2) that know each other; the client
 * knows where the gateway is, the gateway does not know where the client is.
 */
export function gatewayAndClient(
  seed = 1,
  options: { psk?: Uint8Array; gateway?: Partial<NodeOptions> } = {},
): { world: World; gateway: Node; client: Node } {
  const world = new World(seed);
  const gateway = world.addNode({
    endpoint: { address: '192.0.2.1', port: 51820 },
    ...options.gateway,
  });
  const client = world.addNode({
    endpoint: { address: '198.51.100.7', port: 40000 },
    ipv4: '10.9.9.9',
    ipv6: 'fd99::9',
  });
  const presharedKey = options.psk ?? new Uint8Array(32);
  gateway.apply([peer({ key: client.key, ipv4: '10.0.0.2', ipv6: 'fd00::2', presharedKey })]);
  client.apply([
    peer({
      key: gateway.key,
      ipv4: '10.0.0.1',
      ipv6: 'fd00::1',
      presharedKey,
      endpoint: gateway.endpoint,
    }),
  ]);
  return { world, gateway, client };
}
