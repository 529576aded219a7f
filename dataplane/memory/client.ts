// The WireGuard of a device in memory, without filter and networks: each packet goes to its first
// peer, whatever its addresses are, and every packet that arrives is delivered. It is made of the
// same code as the gateway, so it renews keys, answers handshakes and sends keepalives in the same
// way.

import { INITIATIONS_PER_TURN } from '../constants.ts';
import { DESCRIPTOR_WORDS, LENGTH, OFFSET, type PeerConfig } from '../contract.ts';
import type { TypeScriptEngine } from '../io/engine.ts';
import { portablePrimitives } from '../noise/primitives.ts';
import { Places } from '../places.ts';
import { reasonNames, reasons } from '../reasons.ts';
import { createEndpointTable, type Endpoint } from '../wire/address.ts';
import { InnerPacket, parseInner } from '../wire/ip.ts';
import { VIRTIO_HEADER_BYTES } from '../wire/virtio.ts';
import type { Peer } from '../wireguard/peer.ts';
import { Receiver } from '../wireguard/receive.ts';
import { Sender } from '../wireguard/send.ts';
import { endpointLayout, Tunnel } from '../wireguard/tunnel.ts';
import {
  type Arrival,
  bytesOf,
  type MakeEngine,
  type Placed,
  publicKeyOf,
  randomBytes,
  type Surroundings,
} from './surroundings.ts';

/** MTU of clients; padding stops at it. */
const MTU = 1420;
/** Peers that it can have: the gateway, and what tests add. */
const PEERS = 64;

/** What a client is made from. */
export interface ClientOptions<E extends TypeScriptEngine> extends Placed {
  readonly makeEngine: MakeEngine<E>;
  /** Takes inner packets that arrive, without their padding. */
  readonly deliver: (packet: Uint8Array) => void;
}

/** A client; its tables are public for tests. */
export class TunnelClient<E extends TypeScriptEngine = TypeScriptEngine> {
  endpoint: Endpoint;
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly engine: E;
  readonly tunnel: Tunnel;
  readonly sender: Sender;
  readonly receiver: Receiver;
  readonly #around: Surroundings;
  readonly #deliver: (packet: Uint8Array) => void;
  readonly #drops = new Map<string, number>();
  readonly #places = new Places();

  constructor(around: Surroundings, options: ClientOptions<E>) {
    this.#around = around;
    this.#deliver = options.deliver;
    this.endpoint = options.endpoint;
    this.privateKey = options.privateKey ?? randomBytes(around.random, 32);
    this.publicKey = publicKeyOf(this.privateKey, options.primitives);
    this.engine = options.makeEngine(
      options.primitives ?? portablePrimitives,
      createEndpointTable(endpointLayout.peers + PEERS),
      MTU,
      { sendDatagram: (bytes, to) => around.transmit(bytes, this.endpoint, to), writePacket: null },
    );
    const identity = { privateKey: this.privateKey, publicKey: this.publicKey };
    const drop = (reason: number): void => this.#countDrop(reason);
    this.tunnel = new Tunnel(
      {
        engine: this.engine,
        identity,
        random: around.random,
        timestampFloorMs: 0,
        peers: PEERS,
        drop,
      },
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

  /** The public key in base64. */
  get key(): string {
    return Buffer.from(this.publicKey).toString('base64');
  }

  /** The first peer: the gateway. */
  get peer(): Peer {
    return [...this.tunnel.peers.values()][0]!;
  }

  /** What it has refused, by reason. */
  drops(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#drops);
  }

  addPeer(config: PeerConfig): Peer {
    return this.tunnel.addPeer({ ...config, ...this.#places.give() }) as Peer;
  }

  /** Initiates a handshake with the first peer. */
  connect(): void {
    this.tunnel.wallMs = this.#around.wallMs;
    this.sender.initiate(this.peer, false, this.#around.now);
  }

  /**
   * Forgets the session and all waiting packets of the first peer, as a device does that is
   * switched off and on.
   */
  restart(): void {
    const { sentTimestamp, slot } = this.peer;
    // Removing a peer wipes its preshared key.
    const config = { ...this.peer.config, presharedKey: new Uint8Array(this.peer.presharedKey) };
    this.tunnel.removePeer(this.peer);
    this.#places.takeBack({ slot });
    // A gateway takes only greater timestamps.
    this.addPeer(config).sentTimestamp.set(sentTimestamp);
  }

  /** Sends packets to the first peer, in one batch. */
  send(...packets: Uint8Array[]): void {
    const { engine, tunnel, sender, peer } = this;
    tunnel.wallMs = this.#around.wallMs;
    const batch = engine.packets;
    batch.count = 0;
    for (const packet of packets) engine.acceptPacket(packet);
    for (let i = 0; i < batch.count; i++)
      sender.sendPacket(peer, batch, i, VIRTIO_HEADER_BYTES, this.#around.now);
    engine.seal(batch);
    for (let i = 0; i < batch.count; i++) sender.countSealed(peer, batch, i, this.#around.now);
    batch.count = 0;
  }

  /** Takes a datagram. */
  receive(bytes: Uint8Array, from: Endpoint): void {
    this.receiveAll([{ bytes, from }]);
  }

  /** Takes datagrams in one batch. */
  receiveAll(datagrams: readonly Arrival[]): void {
    const { engine, receiver } = this;
    const { now } = this.#around;
    this.tunnel.wallMs = this.#around.wallMs;
    const batch = engine.datagrams;
    batch.count = 0;
    for (const { bytes, from } of datagrams) engine.acceptDatagram(bytes, bytesOf(from), from.port);
    for (let i = 0; i < batch.count; i++) receiver.classify(batch, i, now);
    engine.open(batch);
    for (let i = 0; i < batch.count; i++) {
      if (receiver.accept(batch, i, now) !== null) this.#handOver(i);
    }
    batch.count = 0;
    receiver.takeInitiations(INITIATIONS_PER_TURN, now);
  }

  #handOver(i: number): void {
    const { view, bytes, descriptors } = this.engine.datagrams;
    const at = i * DESCRIPTOR_WORDS;
    const offset = descriptors[at + OFFSET]!;
    const packet = new InnerPacket();
    const reason = parseInner(view, offset, descriptors[at + LENGTH]!, packet);
    const length = reason === reasons.none ? packet.length : descriptors[at + LENGTH]!;
    this.#deliver(bytes.slice(offset, offset + length));
  }

  /** When `expire` must be called at the latest, in ms; infinite when nothing waits. */
  nextTimeout(): number {
    return this.receiver.waitingInitiations > 0 ? this.#around.now : this.tunnel.nextDeadline;
  }

  /** Fires the timers that are due. */
  expire(): void {
    this.tunnel.wallMs = this.#around.wallMs;
    this.tunnel.expire(this.#around.now, INITIATIONS_PER_TURN);
    this.receiver.takeInitiations(INITIATIONS_PER_TURN, this.#around.now);
  }
}
