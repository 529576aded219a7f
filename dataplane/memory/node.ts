// The packet path of a gateway on the TypeScript engine. Its link and its TUN are functions:
// datagrams and packets go in and out by calls, at once and on one thread.

import { DATAGRAM_SLOTS, PACKET_SLOTS } from '../constants.ts';
import type { NetworkConfig } from '../contract.ts';
import type { Change } from '../diff.ts';
import type { TypeScriptEngine } from '../io/engine.ts';
import { derivePublicKey } from '../noise/keys.ts';
import { portablePrimitives } from '../noise/primitives.ts';
import { Pipeline } from '../pipeline.ts';
import { createEndpointTable, type Endpoint } from '../wire/address.ts';
import { endpointLayout } from '../wireguard/tunnel.ts';
import { address } from './packets.ts';
import {
  type Arrival,
  type MakeEngine,
  type Placed,
  randomBytes,
  type Surroundings,
} from './surroundings.ts';

/** What a node is made from. */
export interface NodeOptions<E extends TypeScriptEngine> extends Placed {
  readonly makeEngine: MakeEngine<E>;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly hasTun: boolean;
  readonly mtu: number;
  readonly defaultAction: 'accept' | 'drop';
  readonly allowsMetadata: boolean;
  readonly timestampFloorMs: number;
  /** How many flows are remembered, a power of two; MAX_FLOWS where it is left out. */
  readonly flows?: number;
  /** Takes packets that come out at the TUN. */
  readonly deliver: (packet: Uint8Array) => void;
}

/** A gateway in memory. */
export class PipelineNode<E extends TypeScriptEngine = TypeScriptEngine> {
  endpoint: Endpoint;
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly engine: E;
  readonly pipeline: Pipeline;
  readonly #around: Surroundings;

  constructor(around: Surroundings, options: NodeOptions<E>) {
    this.#around = around;
    this.endpoint = options.endpoint;
    this.privateKey = options.privateKey ?? randomBytes(around.random, 32);
    this.publicKey = derivePublicKey(this.privateKey);
    this.engine = options.makeEngine(
      options.primitives ?? portablePrimitives,
      createEndpointTable(endpointLayout.total),
      options.mtu,
      {
        sendDatagram: (bytes, to) => around.transmit(bytes, this.endpoint, to),
        writePacket: options.deliver,
      },
    );
    this.pipeline = new Pipeline({
      engine: this.engine,
      identity: { privateKey: this.privateKey, publicKey: this.publicKey },
      random: around.random,
      timestampFloorMs: options.timestampFloorMs,
      ipv4: options.ipv4,
      ipv6: options.ipv6,
      defaultAction: options.defaultAction,
      allowsMetadata: options.allowsMetadata,
      listenPort: options.endpoint.port,
      mtu: options.mtu,
      hasTun: options.hasTun,
      ...(options.flows === undefined ? {} : { flows: options.flows }),
    });
  }

  /** The public key in base64. */
  get key(): string {
    return Buffer.from(this.publicKey).toString('base64');
  }

  /** Puts a change in force. */
  change(change: Change): void {
    this.pipeline.apply(change, this.#around.now, this.#around.wallMs);
  }

  /**
   * Releases peers that made a later handshake with another gateway: by public key, Unix time in
   * ms.
   */
  release(heardElsewhere: ReadonlyMap<string, number>): void {
    this.pipeline.release(heardElsewhere, this.#around.now, this.#around.wallMs);
  }

  /** Sends packets of the host to the TUN, in one batch (at most PACKET_SLOTS). */
  send(...packets: Uint8Array[]): void {
    if (packets.length > PACKET_SLOTS) throw new RangeError(`${packets.length} packets at once`);
    for (const packet of packets) this.engine.acceptPacket(packet);
    this.pipeline.outbound(this.#around.now, this.#around.wallMs);
  }

  /** Takes a datagram. */
  receive(bytes: Uint8Array, from: Endpoint): void {
    this.receiveAll([{ bytes, from }]);
  }

  /** Takes datagrams in one batch (at most DATAGRAM_SLOTS). */
  receiveAll(datagrams: readonly Arrival[]): void {
    if (datagrams.length > DATAGRAM_SLOTS)
      throw new RangeError(`${datagrams.length} datagrams at once`);
    for (const { bytes, from } of datagrams)
      this.engine.acceptDatagram(bytes, address(from.address), from.port);
    this.pipeline.inbound(this.#around.now, this.#around.wallMs);
    // A turn ends with what is due, here the initiations that have just come.
    this.expire();
    this.engine.datagrams.count = 0;
  }

  /** When `expire` must be called at the latest, in ms; infinite when nothing waits. */
  nextTimeout(): number {
    return this.pipeline.nextTimeout(this.#around.now);
  }

  /** Fires the timers that are due. */
  expire(): void {
    this.pipeline.expire(this.#around.now, this.#around.wallMs);
  }
}
