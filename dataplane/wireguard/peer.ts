// One peer: who it is, its keypairs, its endpoint, its timers, and the packets that wait for a
// keypair. It holds state and its own small rules; the way of a packet is in receive.ts and
// send.ts.

import type { PeerConfig } from '../contract.ts';
import type { CookieMaker } from '../noise/cookie.ts';
import type { InitiatorState, NoisePeer } from '../noise/handshake.ts';
import { TIMESTAMP_BYTES } from '../constants.ts';
import type { Keypair } from './keypair.ts';
import type { StagedPacket } from './staging.ts';
import { PeerTimers } from './timers.ts';

/** One peer of the tunnel. */
export class Peer implements NoisePeer {
  readonly id: string;
  /** Number below MAX_PEERS that names its places in tables. */
  readonly slot: number;
  /** Where its endpoint is kept. */
  readonly endpointSlot: number;
  readonly publicKey: Uint8Array;
  /** Another peer whose key begins with the same word; peer-keys.ts puts it there. */
  nextOfKey: Peer | null = null;
  readonly presharedKey: Uint8Array;
  #config: PeerConfig;
  staticShared: Uint8Array | null = null;

  /** Serves for receiving what was sent before the current keypair was confirmed. */
  previous: Keypair<Peer> | null = null;
  /** Serves for sending and receiving. */
  current: Keypair<Peer> | null = null;
  /** Made by our response; becomes current with the first packet that arrives under it. */
  next: Keypair<Peer> | null = null;

  /** Our initiation that waits for a response, and its index. */
  initiator: InitiatorState | null = null;
  initiatorIndex: number | null = null;
  lastInitiationSentAt = Number.NEGATIVE_INFINITY;
  /** Responses to that initiation that proved false. */
  falseResponses = 0;
  /** Greatest timestamp among the initiations taken from it. */
  readonly greatestTimestamp = new Uint8Array(TIMESTAMP_BYTES);
  /** The timestamp of our last initiation to it. */
  readonly sentTimestamp = new Uint8Array(TIMESTAMP_BYTES);
  lastInitiationTakenAt = Number.NEGATIVE_INFINITY;
  /** Made with the first handshake message to it. */
  cookieMaker: CookieMaker | null = null;

  readonly timers = new PeerTimers();
  /** What waits for a keypair, the oldest first; staging.ts puts it there and takes it away. */
  readonly staged: StagedPacket[] = [];

  /** Bytes of UDP payload since the last sample. */
  rxBytes = 0;
  txBytes = 0;
  /** Unix time of the latest handshake, null before the first. */
  latestHandshakeMs: number | null = null;
  /** Unix time of the latest handshake that another gateway told of. */
  elsewhereAtMs = Number.NEGATIVE_INFINITY;
  /** Whether a sample has something to tell. */
  hasNews = false;

  /** `presharedKey` is a place for it that stays where it is, so that it can be wiped. */
  constructor(
    config: PeerConfig,
    publicKey: Uint8Array,
    presharedKey: Uint8Array,
    slot: number,
    endpointSlot: number,
  ) {
    this.id = config.publicKey;
    this.publicKey = publicKey;
    this.presharedKey = presharedKey;
    this.#config = this.#ownCopy(config);
    this.slot = slot;
    this.endpointSlot = endpointSlot;
  }

  get config(): PeerConfig {
    return this.#config;
  }

  /** A changed preshared key serves from the next handshake on; the session stands. */
  set config(config: PeerConfig) {
    this.#config = this.#ownCopy(config);
  }

  /**
   * A configuration whose arrays are the peer's own. Those that came with a message lie outside the
   * heap, at some hundred bytes each, until V8 collects old objects.
   */
  #ownCopy(config: PeerConfig): PeerConfig {
    const { presharedKey } = this;
    presharedKey.set(config.presharedKey);
    const ipv4 = config.ipv4 === null ? null : new Uint8Array(config.ipv4);
    const ipv6 = config.ipv6 === null ? null : new Uint8Array(config.ipv6);
    return { ...config, presharedKey, ipv4, ipv6 };
  }

  /** Whether another gateway was the last to shake hands with it. */
  get isElsewhere(): boolean {
    return this.elsewhereAtMs > (this.latestHandshakeMs ?? Number.NEGATIVE_INFINITY);
  }

  countReceived(bytes: number): void {
    this.rxBytes += bytes;
    this.hasNews = true;
  }

  countSent(bytes: number): void {
    this.txBytes += bytes;
    this.hasNews = true;
  }
}
