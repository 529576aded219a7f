// A device in memory: a host with a WireGuard client, configured as the file of the device says.
// Where the gateway no longer knows its session, it makes a new one at once and tries again. A real
// client does so after some time, or when a person switches it off and on.

import { INITIATION_INTERVAL_MS } from '../constants.ts';
import { TypeScriptEngine } from '../io/engine.ts';
import { type Endpoint, parseAddress } from '../wire/address.ts';
import { batchesOf } from './batches.ts';
import { TunnelClient } from './client.ts';
import { GATEWAY_ADDRESS } from './gateway.ts';
import { type Addresses, type Answers, MemoryHost } from './host.ts';
import type { MemoryNetwork } from './network.ts';
import type { Refusals } from './no-answer.ts';
import { type DeviceStream, DeviceStreams } from './streams.ts';

/** The contents of the file of a device; keys as bytes. */
export interface DeviceConfig extends Addresses {
  readonly privateKey: Uint8Array;
  readonly presharedKey: Uint8Array;
  /** Base64. */
  readonly serverPublicKey: string;
  readonly serverPort: number;
  /** Its address and port on the network. */
  readonly endpoint: Endpoint;
}

/** Refusals after which a new handshake can help. */
const REPAIRABLE = ['transport_unknown_index', 'transport_keypair_expired'];
/** Refusals of a handshake that came too early. */
const TOO_EARLY = ['initiation_too_frequent', 'initiation_replayed'];

/** A device on a network. */
export class MemoryDevice extends MemoryHost {
  readonly #network: MemoryNetwork;
  readonly #client: TunnelClient;
  #streams: DeviceStreams | null = null;
  #isOnline = false;
  /** When it made its last handshake by going online. */
  #connectedAt = Number.NEGATIVE_INFINITY;

  constructor(network: MemoryNetwork, config: DeviceConfig, answers: Answers = {}) {
    super(network, config, answers);
    this.#network = network;
    const { endpoint, privateKey, presharedKey, serverPublicKey, serverPort } = config;
    this.#client = new TunnelClient(network, {
      endpoint,
      primitives: network.primitives,
      privateKey,
      makeEngine: (primitives, endpoints, mtu, links) =>
        new TypeScriptEngine(primitives, endpoints, mtu, links, { batches: batchesOf(0) }),
      deliver: (packet) => this.receive(packet),
    });
    const gateway: Endpoint = { address: GATEWAY_ADDRESS, port: serverPort };
    this.#client.addPeer({
      publicKey: serverPublicKey,
      presharedKey,
      ipv4: null,
      ipv6: null,
      scope: '',
      resume: {
        endpoint: gateway,
        heardAtMs: 0,
      },
    });
  }

  /** Whether the gateway and the device have a session. */
  get isConnected(): boolean {
    return this.#client.peer.current !== null;
  }

  /** Joins the network and makes a handshake with the gateway, which may refuse it. */
  online(): void {
    if (this.#isOnline) return;
    this.#isOnline = true;
    this.#network.join(this.#client);
    // A gateway takes one initiation in this time. Real devices are not switched off and on so
    // fast.
    const tooSoonMs = this.#connectedAt + INITIATION_INTERVAL_MS - this.#network.now;
    if (tooSoonMs > 0) this.#network.skip(Math.ceil(tooSoonMs) + 1);
    this.#network.run(() => {
      this.#client.restart();
      this.#client.connect();
    });
    // The gateway took the initiation a little later than it was sent.
    this.#connectedAt = this.#network.now;
  }

  /** Leaves the network without a message; `online` makes a new session. */
  offline(): void {
    this.#isOnline = false;
    this.#network.leave(this.#client);
  }

  /** Moves to another address, like a laptop that changes its network. */
  roam(endpoint: Endpoint): void {
    const wasOnline = this.#isOnline;
    this.#network.leave(this.#client);
    this.#client.endpoint = endpoint;
    if (wasOnline) this.#network.join(this.#client);
  }

  /** Opens a TCP connection, with the TCP of a real host. */
  stream(to: string, port: number): DeviceStream {
    const destination = parseAddress(to);
    if (destination === null) throw new TypeError(`${to} is no IP address`);
    const source = parseAddress(destination.length === 4 ? this.ipv4 : this.ipv6)!;
    this.#streams ??= this.#makeStreams();
    return this.#streams.connect(source, destination, port);
  }

  #makeStreams(): DeviceStreams {
    const network = this.#network;
    const streams = new DeviceStreams({
      now: () => network.now,
      random: network.random,
      // What a device sends while it is offline is lost.
      send: (packet) => network.run(() => (this.#isOnline ? this.send(packet) : undefined)),
    });
    network.whenClosed(() => streams.close());
    return streams;
  }

  override receive(packet: Uint8Array): void {
    if (this.#streams?.receive(packet) !== true) super.receive(packet);
  }

  override send(packet: Uint8Array): void {
    if (!this.#isOnline) throw new Error('the device is offline');
    this.#client.send(packet);
  }

  protected override ownRefusals(): Refusals {
    return this.#client.drops();
  }

  protected override prepare(): void {
    // A handshake that failed is forgotten, so that another one begins at once.
    if (!this.isConnected) this.#client.restart();
  }

  protected override repair(refusals: Refusals): number | null {
    if (TOO_EARLY.some((reason) => reason in refusals)) return INITIATION_INTERVAL_MS;
    if (!REPAIRABLE.some((reason) => reason in refusals)) return null;
    this.#client.restart();
    return 0;
  }
}
