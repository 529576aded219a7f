// A gateway's packet path on the TypeScript engine, joined to a link and a TUN that are functions:
// datagrams and packets are put in by calls and come out by calls, at once and on one thread.

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

/** What a node is made of. */
export interface NodeOptions<E extends TypeScriptEngine> extends Placed {
  readonly makeEngine: MakeEngine<E>;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly hasTun: boolean;
  readonly mtu: number;
  readonly defaultAction: 'accept' | 'drop';
  readonly allowsMetadata: boolean;
  readonly timestampFloorMs: number;
  /** Conversations that are remembered at most, a power of two; as many as ever if left out. */
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

  /** Takes the steps of a change. */
  change(change: Change): void {
    this.pipeline.apply(change, this.#around.now, this.#around.wallMs);
  }

  /** Lets go of peers that another gateway shook hands with: by public key, when (Unix ms). */
  release(heardElsewhere: ReadonlyMap<string, number>): void {
    this.pipeline.release(heardElsewhere, this.#around.now, this.#around.wallMs);
  }

  /** Packets leave the host through the TUN, in one batch (PACKET_SLOTS at most). */
  send(...packets: Uint8Array[]): void {
    if (packets.length > PACKET_SLOTS) throw new RangeError(`${packets.length} packets at once`);
    for (const packet of packets) this.engine.acceptPacket(packet);
    this.pipeline.outbound(this.#around.now, this.#around.wallMs);
  }

  /** A datagram arrives. */
  receive(bytes: Uint8Array, from: Endpoint): void {
    this.receiveAll([{ bytes, from }]);
  }

  /** Datagrams arrive in one batch (DATAGRAM_SLOTS at most). */
  receiveAll(datagrams: readonly Arrival[]): void {
    if (datagrams.length > DATAGRAM_SLOTS)
      throw new RangeError(`${datagrams.length} datagrams at once`);
    for (const { bytes, from } of datagrams)
      this.engine.acceptDatagram(bytes, address(from.address), from.port);
    this.pipeline.inbound(this.#around.now, this.#around.wallMs);
    // A turn ends with what is due by then: the initiations that have just come.
    this.expire();
    this.engine.datagrams.count = 0;
  }

  /** When `expire` must be called at the latest, ms; infinite when nothing is due. */
  nextTimeout(): number {
    return this.pipeline.nextTimeout(this.#around.now);
  }

  /** Fires the timers that are due. */
  expire(): void {
    this.pipeline.expire(this.#around.now, this.#around.wallMs);
  }
}
