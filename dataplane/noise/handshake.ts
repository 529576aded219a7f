// The handshake of WireGuard (paper, section 5.4), Noise_IKpsk2:
//
//     -> e, es, s, ss, {t}
//     <- e, ee, se, psk, {}
//
// It computes keys from messages. It knows only the facts about a peer that NoisePeer has, and it
// finds a peer through a look-up that it is given. Sockets, timers, indices and macs are in other
// files.

import { KEY_BYTES, TIMESTAMP_BYTES } from '../constants.ts';
import { reasons } from '../reasons.ts';
import {
  HANDSHAKE_INITIATION,
  HANDSHAKE_RESPONSE,
  initiation,
  response,
} from '../wire/messages.ts';
import type { Primitives } from './primitives.ts';
import { SymmetricState } from './symmetric-state.ts';

/** The gateway's static key pair. */
export interface Identity {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** What an initiation needs to know about its sender. */
export interface NoiseInitiator {
  readonly publicKey: Uint8Array;
  /** DH(our static, its static), computed at the first handshake; null until then. */
  staticShared: Uint8Array | null;
}

/** What the handshake needs to know about the other side. */
export interface NoisePeer extends NoiseInitiator {
  /** 32 bytes; zeros mean "none" (5.2). A new one is used from the next handshake on. */
  presharedKey: Uint8Array;
}

/** The two keys of a keypair; the caller wipes them once they are installed. */
export interface TransportKeys {
  readonly send: Uint8Array;
  readonly receive: Uint8Array;
}

/** Fills an array with random bytes; it is passed in, so that tests can use a seed. */
export type Random = (bytes: Uint8Array) => void;

export function createTransportKeys(): TransportKeys {
  return { send: new Uint8Array(KEY_BYTES), receive: new Uint8Array(KEY_BYTES) };
}

/** What an initiator must keep between its initiation and the response. */
export class InitiatorState {
  readonly symmetric: SymmetricState;
  readonly ephemeralPrivate = new Uint8Array(KEY_BYTES);

  constructor(primitives: Primitives) {
    this.symmetric = new SymmetricState(primitives);
  }

  wipe(): void {
    this.symmetric.wipe();
    this.ephemeralPrivate.fill(0);
  }
}

/** Bytes of an initiation with the ck and h that were left when it was opened. */
export const OPENED_INITIATION_BYTES = initiation.bytes + 2 * KEY_BYTES;

const EMPTY = new Uint8Array(0);

/** Both roles of the handshake, for one identity. It reuses its buffers, so it is not reentrant. */
export class Handshake {
  readonly #primitives: Primitives;
  readonly #identity: Identity;
  readonly #random: Random;
  readonly #symmetric: SymmetricState;
  readonly #shared = new Uint8Array(KEY_BYTES);
  readonly #ephemeralPrivate = new Uint8Array(KEY_BYTES);
  readonly #ephemeralPublic = new Uint8Array(KEY_BYTES);
  readonly #empty = new Uint8Array(0);
  /** Set by consumeInitiation: the initiator's static key. */
  readonly remoteStatic = new Uint8Array(KEY_BYTES);
  /** Set by consumeInitiation and consumeResponse: the other side's ephemeral key. */
  readonly #remoteEphemeral = new Uint8Array(KEY_BYTES);
  /** Set by consumeInitiation: the initiator's timestamp. */
  readonly timestamp = new Uint8Array(TIMESTAMP_BYTES);

  constructor(primitives: Primitives, identity: Identity, random: Random) {
    this.#primitives = primitives;
    this.#identity = identity;
    this.#random = random;
    this.#symmetric = new SymmetricState(primitives);
  }

  /**
   * Writes an initiation without its macs into `out` (148 bytes), and keeps in `state` what the
   * response will need. False when the static key of the peer is a low-order point.
   */
  createInitiation(
    out: Uint8Array,
    peer: NoisePeer,
    state: InitiatorState,
    sender: number,
    timestamp: Uint8Array,
  ): boolean {
    const staticShared = this.#staticShared(peer);
    if (staticShared === null) return false;
    const { symmetric } = state;
    writeHeader(out, HANDSHAKE_INITIATION, sender);
    symmetric.initialize(peer.publicKey);
    // e
    const ephemeral = out.subarray(initiation.ephemeral, initiation.ephemeral + KEY_BYTES);
    this.#random(state.ephemeralPrivate);
    this.#primitives.publicKey(ephemeral, state.ephemeralPrivate);
    symmetric.mixChain(ephemeral);
    symmetric.mixHash(ephemeral);
    // es
    if (!this.#primitives.sharedSecret(this.#shared, state.ephemeralPrivate, peer.publicKey))
      return false;
    symmetric.mixKey(this.#shared);
    // s
    symmetric.encryptAndHash(
      out.subarray(initiation.static, initiation.timestamp),
      this.#identity.publicKey,
    );
    // ss
    symmetric.mixKey(staticShared);
    // {t}
    symmetric.encryptAndHash(out.subarray(initiation.timestamp, initiation.mac1), timestamp);
    this.#shared.fill(0);
    return true;
  }

  /**
   * Opens an initiation (148 bytes) and leaves its timestamp in `timestamp`. `lookUp` finds the
   * peer by its static key. Returns the peer or a reason. A bad message changes only buffers of
   * this object.
   */
  consumeInitiation<P extends NoiseInitiator>(
    message: Uint8Array,
    lookUp: (publicKey: Uint8Array) => P | null,
  ): P | number {
    const symmetric = this.#symmetric;
    symmetric.initialize(this.#identity.publicKey);
    // e
    this.#remoteEphemeral.set(
      message.subarray(initiation.ephemeral, initiation.ephemeral + KEY_BYTES),
    );
    symmetric.mixChain(this.#remoteEphemeral);
    symmetric.mixHash(this.#remoteEphemeral);
    // es
    if (
      !this.#primitives.sharedSecret(this.#shared, this.#identity.privateKey, this.#remoteEphemeral)
    )
      return reasons.initiation_invalid;
    symmetric.mixKey(this.#shared);
    // s
    const sealedStatic = message.subarray(initiation.static, initiation.timestamp);
    if (!symmetric.decryptAndHash(this.remoteStatic, sealedStatic))
      return reasons.initiation_invalid;
    const peer = lookUp(this.remoteStatic);
    if (peer === null) return reasons.initiation_unknown_peer;
    // ss
    const staticShared = this.#staticShared(peer);
    if (staticShared === null) return reasons.initiation_invalid;
    symmetric.mixKey(staticShared);
    // {t}
    const sealedTimestamp = message.subarray(initiation.timestamp, initiation.mac1);
    if (!symmetric.decryptAndHash(this.timestamp, sealedTimestamp))
      return reasons.initiation_invalid;
    return peer;
  }

  /**
   * Writes behind an initiation (OPENED_INITIATION_BYTES in all) what the consumeInitiation just
   * before left, so that another worker can respond. It is secret: the caller wipes it.
   */
  saveOpened(message: Uint8Array): void {
    message.set(this.#symmetric.ck, initiation.bytes);
    message.set(this.#symmetric.h, initiation.bytes + KEY_BYTES);
    this.#symmetric.wipe();
  }

  /** Continues from what `saveOpened` wrote, as if this worker had consumed the initiation. */
  resumeOpened(message: Uint8Array): void {
    const secrets = initiation.bytes;
    this.#symmetric.ck.set(message.subarray(secrets, secrets + KEY_BYTES));
    this.#symmetric.h.set(message.subarray(secrets + KEY_BYTES, secrets + 2 * KEY_BYTES));
    this.#remoteEphemeral.set(
      message.subarray(initiation.ephemeral, initiation.ephemeral + KEY_BYTES),
    );
  }

  /**
   * Writes the response without its macs into `out` (92 bytes) and derives the keys. Call it
   * directly after the consumeInitiation that returned `peer`, or after `resumeOpened`. False when
   * the ephemeral key is a low-order point.
   */
  createResponse(
    out: Uint8Array,
    peer: NoisePeer,
    sender: number,
    receiver: number,
    keys: TransportKeys,
  ): boolean {
    const symmetric = this.#symmetric;
    writeHeader(out, HANDSHAKE_RESPONSE, sender);
    viewOf(out).setUint32(response.receiver, receiver, true);
    // e
    this.#random(this.#ephemeralPrivate);
    this.#primitives.publicKey(this.#ephemeralPublic, this.#ephemeralPrivate);
    out.set(this.#ephemeralPublic, response.ephemeral);
    symmetric.mixChain(this.#ephemeralPublic);
    symmetric.mixHash(this.#ephemeralPublic);
    // ee
    if (!this.#primitives.sharedSecret(this.#shared, this.#ephemeralPrivate, this.#remoteEphemeral))
      return false;
    symmetric.mixChain(this.#shared);
    // se
    if (!this.#primitives.sharedSecret(this.#shared, this.#ephemeralPrivate, peer.publicKey))
      return false;
    symmetric.mixChain(this.#shared);
    // psk
    symmetric.mixKeyAndHash(peer.presharedKey);
    // {}
    symmetric.encryptAndHash(out.subarray(response.empty, response.mac1), EMPTY);
    symmetric.split(keys.receive, keys.send);
    this.#wipeScratch();
    return true;
  }

  /**
   * Opens a response (92 bytes) to the initiation of `state` and derives the keys. True: the state
   * is wiped. False: the state is unchanged and still waits for the real response.
   */
  consumeResponse(
    message: Uint8Array,
    peer: NoisePeer,
    state: InitiatorState,
    keys: TransportKeys,
  ): boolean {
    const symmetric = this.#symmetric;
    symmetric.copyFrom(state.symmetric);
    // e
    this.#remoteEphemeral.set(message.subarray(response.ephemeral, response.ephemeral + KEY_BYTES));
    symmetric.mixChain(this.#remoteEphemeral);
    symmetric.mixHash(this.#remoteEphemeral);
    // ee
    if (!this.#primitives.sharedSecret(this.#shared, state.ephemeralPrivate, this.#remoteEphemeral))
      return false;
    symmetric.mixChain(this.#shared);
    // se
    if (
      !this.#primitives.sharedSecret(this.#shared, this.#identity.privateKey, this.#remoteEphemeral)
    )
      return false;
    symmetric.mixChain(this.#shared);
    // psk
    symmetric.mixKeyAndHash(peer.presharedKey);
    // {}
    if (!symmetric.decryptAndHash(this.#empty, message.subarray(response.empty, response.mac1)))
      return false;
    symmetric.split(keys.send, keys.receive);
    state.wipe();
    this.#wipeScratch();
    return true;
  }

  #staticShared(peer: NoiseInitiator): Uint8Array | null {
    if (peer.staticShared !== null) return peer.staticShared;
    const shared = new Uint8Array(KEY_BYTES);
    if (!this.#primitives.sharedSecret(shared, this.#identity.privateKey, peer.publicKey))
      return null;
    peer.staticShared = shared;
    return shared;
  }

  #wipeScratch(): void {
    this.#shared.fill(0);
    this.#ephemeralPrivate.fill(0);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function writeHeader(out: Uint8Array, type: number, sender: number): void {
  const view = viewOf(out);
  view.setUint32(0, type, true);
  view.setUint32(4, sender, true);
}
