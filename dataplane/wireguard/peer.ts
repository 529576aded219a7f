// A peer for which this worker is responsible: its keypairs, timers, and the packets that wait for
// a keypair. It holds the state; what packets do with it is in receive.ts and send.ts.

import type { PeerConfig, PlacedPeer } from '../contract.ts';
import type { CookieMaker } from '../noise/cookie.ts';
import type { InitiatorState, NoisePeer } from '../noise/handshake.ts';
import { TIMESTAMP_BYTES } from '../constants.ts';
import type { Keypair } from './keypair.ts';
import { Inside } from './inside.ts';
import { KnownPeer } from './known-peer.ts';
import type { StagedPacket } from './staging.ts';
import { PeerTimers } from './timers.ts';

/** A peer for which this worker is responsible. */
export class Peer extends KnownPeer implements NoisePeer {
  readonly presharedKey: Uint8Array;
  #config: PeerConfig;

  /** Receives what was sent before the current keypair was confirmed. */
  previous: Keypair<Peer> | null = null;
  /** Sends and receives. */
  current: Keypair<Peer> | null = null;
  /** Made by our response; becomes current with the first packet that arrives under it. */
  next: Keypair<Peer> | null = null;

  /** Our initiation that waits for a response, and its index. */
  initiator: InitiatorState | null = null;
  initiatorIndex: number | null = null;
  lastInitiationSentAt = Number.NEGATIVE_INFINITY;
  /** How many false responses to that initiation came. */
  falseResponses = 0;
  /** The timestamp of our last initiation to it. */
  readonly sentTimestamp = new Uint8Array(TIMESTAMP_BYTES);
  /** Made at the first handshake message to it. */
  cookieMaker: CookieMaker | null = null;

  readonly timers = new PeerTimers();
  /** Packets that wait for a keypair, the oldest first; staging.ts adds and removes them. */
  readonly staged: StagedPacket[] = [];

  /** Bytes of UDP payload since the last sample. */
  rxBytes = 0;
  txBytes = 0;
  /** The part of these bytes that is packets with their padding: 0 if only keepalives came. */
  rxInnerBytes = 0;
  txInnerBytes = 0;
  /** Unix time in ms of the latest handshake, null before the first. */
  latestHandshakeMs: number | null = null;
  /** Unix time in ms of its latest handshake with another gateway. */
  elsewhereAtMs = Number.NEGATIVE_INFINITY;
  /** Whether something changed since the last sample. */
  hasNews = false;
  /** What came through its tunnel, for people. */
  readonly inside: Inside;

  /**
   * `presharedKey` is the memory that the peer keeps it in; it does not move, so it can be wiped.
   * `sinceMs`: Unix time in ms.
   */
  constructor(
    config: PlacedPeer,
    presharedKey: Uint8Array,
    endpointSlot: number,
    worker: number,
    sinceMs = 0,
  ) {
    super(config, endpointSlot, worker, true);
    this.presharedKey = presharedKey;
    this.inside = new Inside(sinceMs);
    this.#config = this.#ownCopy(config);
  }

  get config(): PeerConfig {
    return this.#config;
  }

  /** A changed preshared key is used from the next handshake on; the session goes on. */
  set config(config: PeerConfig) {
    this.#config = this.#ownCopy(config);
  }

  #ownCopy(config: PeerConfig): PeerConfig {
    const { presharedKey } = this;
    presharedKey.set(config.presharedKey);
    this.setAddresses(config);
    return { ...config, presharedKey, ipv4: this.ipv4, ipv6: this.ipv6, routes: this.routes };
  }

  /** Whether its latest handshake was with another gateway. */
  get isElsewhere(): boolean {
    return this.elsewhereAtMs > (this.latestHandshakeMs ?? Number.NEGATIVE_INFINITY);
  }

  countReceived(bytes: number, innerBytes: number): void {
    this.rxBytes += bytes;
    this.rxInnerBytes += innerBytes;
    this.hasNews = true;
  }

  countSent(bytes: number, innerBytes: number): void {
    this.txBytes += bytes;
    this.txInnerBytes += innerBytes;
    this.hasNews = true;
  }
}
