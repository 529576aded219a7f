// A device in memory: a host behind a WireGuard client of its own, configured as a device's file
// says. It does at once what a client does in time, or a person by switching it off and on: where
// the gateway knows its session no more, it begins a new one and tries again.

import { INITIATION_INTERVAL_MS } from '../constants.ts';
import { TypeScriptEngine } from '../io/engine.ts';
import type { Endpoint } from '../wire/address.ts';
import { TunnelClient } from './client.ts';
import { GATEWAY_ADDRESS } from './gateway.ts';
import { type Addresses, type Answers, MemoryHost } from './host.ts';
import type { MemoryNetwork } from './network.ts';
import type { Refusals } from './no-answer.ts';

/** What a device must know, as its WireGuard file says it; keys as bytes. */
export interface DeviceConfig extends Addresses {
  readonly privateKey: Uint8Array;
  readonly presharedKey: Uint8Array;
  /** Base64. */
  readonly serverPublicKey: string;
  readonly serverPort: number;
  /** Where the device is on the network. */
  readonly endpoint: Endpoint;
}

/** Refusals after which a new handshake is worth a try. */
const MENDABLE = ['transport_unknown_index', 'transport_keypair_expired'];
/** Refusals of a handshake that came too early. */
const TOO_EARLY = ['initiation_too_frequent', 'initiation_replayed'];

/** A device on a network. */
export class MemoryDevice extends MemoryHost {
  readonly #network: MemoryNetwork;
  readonly #client: TunnelClient;
  #isOnline = false;
  /** When it last had shaken hands by going online. */
  #connectedAt = Number.NEGATIVE_INFINITY;

  constructor(network: MemoryNetwork, config: DeviceConfig, answers: Answers = {}) {
    super(network, config, answers);
    this.#network = network;
    const { endpoint, privateKey, presharedKey, serverPublicKey, serverPort } = config;
    this.#client = new TunnelClient(network, {
      endpoint,
      privateKey,
      makeEngine: (...parts) => new TypeScriptEngine(...parts),
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

  /** Joins the network and shakes hands with the gateway, which may refuse. */
  online(): void {
    if (this.#isOnline) return;
    this.#isOnline = true;
    this.#network.join(this.#client);
    // Nobody switches a device off and on within the time in which a gateway takes but one call.
    const tooSoonMs = this.#connectedAt + INITIATION_INTERVAL_MS - this.#network.now;
    if (tooSoonMs > 0) this.#network.skip(Math.ceil(tooSoonMs) + 1);
    this.#network.run(() => {
      this.#client.restart();
      this.#client.connect();
    });
    // The gateway took the call somewhat later than it was made.
    this.#connectedAt = this.#network.now;
  }

  /** Leaves the network without a word; `online` begins anew. */
  offline(): void {
    this.#isOnline = false;
    this.#network.leave(this.#client);
  }

  /** Moves to another address, as a laptop does that changes its network. */
  roam(endpoint: Endpoint): void {
    const wasOnline = this.#isOnline;
    this.#network.leave(this.#client);
    this.#client.endpoint = endpoint;
    if (wasOnline) this.#network.join(this.#client);
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

  protected override mend(refusals: Refusals): number | null {
    if (TOO_EARLY.some((reason) => reason in refusals)) return INITIATION_INTERVAL_MS;
    if (!MENDABLE.some((reason) => reason in refusals)) return null;
    this.#client.restart();
    return 0;
  }
}
