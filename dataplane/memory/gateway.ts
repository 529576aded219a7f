// The data plane of a gateway for tests: the same `Gateway`, in memory and on the thread of the
// caller. A change is in force when the call returns.

import {
  type Amendment,
  DESCRIPTOR_WORDS,
  type GatewayConfig,
  LENGTH,
  MARK,
  MARK_DROP,
  MARK_TUN,
  OFFSET,
  type Sample,
  type TunSubstitute,
} from '../contract.ts';
import type { GatewayFacts, GatewayOptions } from '../host/descriptors.ts';
import { type Change, isEmpty, ConfigInForce, type TriedChange } from '../diff.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { type Batches, TypeScriptEngine } from '../io/engine.ts';
import { divideFiles } from '../io/files.ts';
import type { Spot } from '../io/twin-sockets.ts';
import { type EgressWanted, openTwinEgress } from '../worker/egress.ts';
import { joinSamples, sumOf } from '../worker/sample.ts';
import { type PeerTotals, Totals } from '../totals.ts';
import type { Endpoint } from '../wire/address.ts';
import { batchesOf } from './batches.ts';
import type { GatewayParticipant, MemoryNetwork } from './network.ts';
import { PipelineNode, type Substituted } from './node.ts';
import type { Arrival } from './surroundings.ts';

/** The address of the gateway in every network in memory (RFC 5737). */
export const GATEWAY_ADDRESS = '192.0.2.1';

/** Tests have few flows and peers, and many gateways; tables of full size take 60 MB. */
const FLOWS = 16_384;
const PEERS = 16_384;
/**
 * Sockets of a gateway, connections with those that ended lately (a quarter for each device, which
 * has room for as many itself), and bytes that may wait.
 */
const SOCKETS = 1_024;
const SIZES = { connections: 4_096, poolBytes: 2 * 1_048_576 };

/** A gateway on a network in memory. */
export class MemoryGateway extends PipelineNode implements Gateway, GatewayParticipant {
  readonly flowLog = null;
  readonly facts: GatewayFacts;
  readonly #network: MemoryNetwork;
  readonly #inForce = new ConfigInForce();
  readonly #totals = new Totals();
  #whenArrived: (() => void) | null = null;

  /** `hasSockets`: what is for no host in memory leaves by sockets of this process. */
  constructor(network: MemoryNetwork, options: GatewayOptions, hasSockets = false) {
    const { privateKey, ipv4, ipv6, mtu, defaultAction, timestampFloorMs, listenPort } = options;
    const { allowsMetadata } = options;
    const workers = options.workers === 'auto' ? 1 : options.workers;
    const endpoint: Endpoint = { address: GATEWAY_ADDRESS, port: listenPort };
    super(network, {
      endpoint,
      primitives: network.primitives,
      privateKey,
      ipv4,
      ipv6,
      mtu,
      defaultAction,
      allowsMetadata,
      timestampFloorMs,
      hasTun: !hasSockets,
      ...(hasSockets
        ? {
            openEgress: (batches: Batches, devices: number) =>
              openSockets(network, { batches, ipv4, ipv6, devices }, () => {
                network.run(() => this.moveSockets());
              }),
          }
        : {}),
      flows: FLOWS,
      peers: PEERS,
      workers,
      batchesOf,
      makeEngine: (...parts) => new TypeScriptEngine(...parts),
      deliver: (packet) => network.fromGateway(packet),
    });
    this.#network = network;
    this.facts = {
      engine: 'typescript',
      listenPort,
      workers,
      tun: hasSockets ? null : 'memory',
      way: hasSockets ? 'sockets' : 'tun',
      tunError: null,
      masquerade: false,
      // Nothing of the host is open.
      files: divideFiles({ max: null, open: 0, relayed: 0, leaves: hasSockets, workers }),
      connections: null,
      alive: true,
    };
    network.setGateway(this);
  }

  /** Refusals by reason since the beginning. */
  drops(): Readonly<Record<string, number>> {
    return sumOf(this.workers.map(({ pipeline }) => pipeline.drops()));
  }

  async apply(config: GatewayConfig): Promise<void> {
    this.#obey(this.#inForce.replace(config));
  }

  async amend(amendment: Amendment): Promise<void> {
    this.#obey(this.#inForce.amend(amendment));
  }

  trial(amendment: Amendment): () => TriedChange {
    return this.#inForce.trial(amendment);
  }

  #obey(change: Change): void {
    this.#totals.forget(change.removed);
    if (isEmpty(change)) return;
    const added = change.added.map((peer) => this.#totals.resumed(peer));
    this.#network.run(() => this.change({ ...change, added }));
  }

  override release(heardElsewhere: ReadonlyMap<string, number>): void {
    const moved = this.#totals.release(heardElsewhere, this.#inForce.peers);
    this.#network.run(() => super.release(moved));
  }

  async sample(): Promise<Sample> {
    const sample = joinSamples(this.workers.map(({ pipeline }) => pipeline.sample()));
    this.#totals.add(sample.peers, this.#inForce.peers, this.#network.wallMs);
    return sample;
  }

  whenArrived(call: () => void): void {
    this.#whenArrived = call;
  }

  override receiveAll(datagrams: readonly Arrival[]): void {
    super.receiveAll(datagrams);
    for (const { pipeline } of this.workers) if (pipeline.takeArrivals()) this.#whenArrived?.();
  }

  peers(): Iterable<PeerTotals> {
    return this.#totals.of(this.#inForce.peers);
  }

  /** There is no host with routes. */
  hasRouteTo(): boolean {
    return false;
  }

  /** Nothing listens: requests are injected. */
  openDoor(): () => void {
    return () => undefined;
  }

  async close(): Promise<void> {
    this.#network.close();
    for (const { engine } of this.workers) engine.close();
  }
}

/** Opens the sockets; hosts in memory still get their packets as from a TUN. */
function openSockets(
  network: MemoryNetwork,
  path: Pick<EgressWanted, 'batches' | 'ipv4' | 'ipv6' | 'devices'>,
  move: () => void,
): Substituted {
  const { random } = network;
  const wanted = { capacity: SOCKETS, interfaceName: null };
  const lead = (spot: Spot): Spot | null => network.lead(spot);
  const twin = openTwinEgress({ ...path, wanted, random }, { lead, ...SIZES });
  const egress = twin.substitute;
  let isClosed = false;
  twin.onEvents = () => setImmediate(() => (isClosed ? undefined : move()));
  network.whenClosed(() => {
    isClosed = true;
    egress.close();
  });
  const substitute: TunSubstitute = {
    get deadline() {
      return egress.deadline;
    },
    begin: (now) => egress.begin(now),
    read: (batch) => egress.read(batch),
    write: (batch) => {
      const { bytes, descriptors } = batch;
      for (let at = 0; at < batch.count * DESCRIPTOR_WORDS; at += DESCRIPTOR_WORDS) {
        if (descriptors[at + MARK] !== MARK_TUN) continue;
        const offset = descriptors[at + OFFSET]!;
        const packet = bytes.subarray(offset, offset + descriptors[at + LENGTH]!);
        if (!network.hasHostFor(packet)) continue;
        descriptors[at + MARK] = MARK_DROP;
        network.fromGateway(packet.slice());
      }
      egress.write(batch);
    },
  };
  return { substitute, egress };
}
