// The macs and cookies of WireGuard (paper, sections 5.4.4 and 5.4.7). The checker is the side that
// is asked: it judges mac1 and mac2 and makes cookie replies. The maker is the side that asks: it
// writes both macs and remembers the cookie that it was given.

import {
  COOKIE_LATENCY_MS,
  COOKIE_NONCE_BYTES,
  COOKIE_REFRESH_TIME_MS,
  KEY_BYTES,
  MAC_BYTES,
} from '../constants.ts';
import { sameBytes } from '../wire/bytes.ts';
import { COOKIE_REPLY, cookieReply, initiation } from '../wire/messages.ts';
import type { Random } from './handshake.ts';
import type { Primitives } from './primitives.ts';

const encoder = new TextEncoder();
const LABEL_MAC1 = encoder.encode('mac1----');
const LABEL_COOKIE = encoder.encode('cookie--');
const SECRET_BYTES = 32;
/** Of the number by which a sender knows its messages; it stands in the same place in each. */
const INDEX_BYTES = 4;
const NO_SOURCE = new Uint8Array(0);

/** Hash(label || public key): the keys of mac1 and of the cookie's encryption. */
function labelledKey(primitives: Primitives, label: Uint8Array, publicKey: Uint8Array): Uint8Array {
  const key = new Uint8Array(KEY_BYTES);
  primitives.hash(key, label, publicKey);
  return key;
}

/** The side that is asked. */
export class CookieChecker {
  readonly #primitives: Primitives;
  readonly #random: Random;
  readonly #mac1Key: Uint8Array;
  readonly #cookieKey: Uint8Array;
  readonly #secret = new Uint8Array(SECRET_BYTES);
  #secretMadeAt = Number.NEGATIVE_INFINITY;
  readonly #mac = new Uint8Array(MAC_BYTES);
  readonly #cookie = new Uint8Array(MAC_BYTES);
  /** The source that `#cookie` is for: a reply is made for the one that was just judged. */
  #cookieSource = NO_SOURCE;
  /**
   * Begins at random with each secret and then counts: what must never come twice under one key
   * need not cost randomness for each datagram of a flood.
   */
  readonly #nonce = new Uint8Array(COOKIE_NONCE_BYTES);
  readonly #nonceView = new DataView(this.#nonce.buffer);

  constructor(primitives: Primitives, publicKey: Uint8Array, random: Random) {
    this.#primitives = primitives;
    this.#random = random;
    this.#mac1Key = labelledKey(primitives, LABEL_MAC1, publicKey);
    this.#cookieKey = labelledKey(primitives, LABEL_COOKIE, publicKey);
  }

  /** Whether the sender knew our public key: mac1 over all before it. */
  hasValidMac1(message: Uint8Array, mac1At: number): boolean {
    this.#primitives.mac(this.#mac, this.#mac1Key, message.subarray(0, mac1At));
    return equalMacs(this.#mac, message, mac1At);
  }

  /** Whether the sender received our cookie at `source` (its address and port as bytes). */
  hasValidMac2(message: Uint8Array, mac1At: number, source: Uint8Array, now: number): boolean {
    if (now - this.#secretMadeAt >= COOKIE_REFRESH_TIME_MS) return false;
    // Who has no cookie writes zeros (5.4.4): a flood mostly has none, and is not worth two hashes.
    if (isZero(message, mac1At + MAC_BYTES)) return false;
    this.#makeCookie(source);
    this.#primitives.mac(this.#mac, this.#cookie, message.subarray(0, mac1At + MAC_BYTES));
    return equalMacs(this.#mac, message, mac1At + MAC_BYTES);
  }

  /** Writes into `out` (64 bytes) the reply that hands the sender of `message` its cookie. */
  createReply(
    out: Uint8Array,
    message: Uint8Array,
    mac1At: number,
    source: Uint8Array,
    now: number,
  ): void {
    if (now - this.#secretMadeAt >= COOKIE_REFRESH_TIME_MS) this.#renew(now);
    this.#makeCookie(source);
    this.#nonceView.setUint32(0, (this.#nonceView.getUint32(0) + 1) >>> 0);
    // Floods ask for many: nothing is allocated that need not be.
    out.fill(0, 0, cookieReply.receiver);
    out[0] = COOKIE_REPLY;
    // The receiver of the reply is the sender of the message.
    for (let i = 0; i < INDEX_BYTES; i++)
      out[cookieReply.receiver + i] = message[initiation.sender + i]!;
    out.set(this.#nonce, cookieReply.nonce);
    this.#primitives.xseal(
      out.subarray(cookieReply.cookie, cookieReply.bytes),
      this.#cookieKey,
      this.#nonce,
      this.#cookie,
      message.subarray(mac1At, mac1At + MAC_BYTES),
    );
  }

  #renew(now: number): void {
    this.#random(this.#secret);
    this.#random(this.#nonce);
    this.#secretMadeAt = now;
    this.#cookieSource = NO_SOURCE;
  }

  #makeCookie(source: Uint8Array): void {
    if (sameBytes(source, this.#cookieSource)) return;
    this.#primitives.mac(this.#cookie, this.#secret, source);
    if (this.#cookieSource.length === source.length) this.#cookieSource.set(source);
    else this.#cookieSource = source.slice();
  }
}

/** Whether no mac was written at `at`. */
function isZero(message: Uint8Array, at: number): boolean {
  for (let i = 0; i < MAC_BYTES; i++) if (message[at + i] !== 0) return false;
  return true;
}

/** The side that asks; one per peer, made when the first message to that peer is. */
export class CookieMaker {
  readonly #primitives: Primitives;
  readonly #remotePublicKey: Uint8Array;
  /** Null until the other side was under load. */
  #cookie: Uint8Array | null = null;
  #cookieReceivedAt = Number.NEGATIVE_INFINITY;
  readonly #lastMac1 = new Uint8Array(MAC_BYTES);
  #awaitsReply = false;

  constructor(primitives: Primitives, remotePublicKey: Uint8Array) {
    this.#primitives = primitives;
    this.#remotePublicKey = remotePublicKey;
  }

  /** Writes mac1, and mac2 (zeros without a fresh cookie), at the end of a handshake message. */
  addMacs(message: Uint8Array, mac1At: number, now: number): void {
    const mac1 = message.subarray(mac1At, mac1At + MAC_BYTES);
    const mac2 = message.subarray(mac1At + MAC_BYTES, mac1At + 2 * MAC_BYTES);
    this.#primitives.mac(mac1, this.#key(LABEL_MAC1), message.subarray(0, mac1At));
    this.#lastMac1.set(mac1);
    this.#awaitsReply = true;
    if (
      this.#cookie !== null &&
      now - this.#cookieReceivedAt < COOKIE_REFRESH_TIME_MS - COOKIE_LATENCY_MS
    )
      this.#primitives.mac(mac2, this.#cookie, message.subarray(0, mac1At + MAC_BYTES));
    else mac2.fill(0);
  }

  /** Takes the cookie of a reply to our last message; false when it is not one. */
  consumeReply(reply: Uint8Array, now: number): boolean {
    if (!this.#awaitsReply) return false;
    const cookie = new Uint8Array(MAC_BYTES);
    const isAuthentic = this.#primitives.xopen(
      cookie,
      this.#key(LABEL_COOKIE),
      reply.subarray(cookieReply.nonce, cookieReply.cookie),
      reply.subarray(cookieReply.cookie, cookieReply.bytes),
      this.#lastMac1,
    );
    if (!isAuthentic) return false;
    this.#cookie = cookie;
    this.#cookieReceivedAt = now;
    this.#awaitsReply = false;
    return true;
  }

  /** Computed for each message: keeping both keys of every peer would cost more than a hash. */
  #key(label: Uint8Array): Uint8Array {
    return labelledKey(this.#primitives, label, this.#remotePublicKey);
  }
}

/** Compares a mac with the bytes of a message at `at`, in constant time. */
function equalMacs(mac: Uint8Array, message: Uint8Array, at: number): boolean {
  let difference = 0;
  for (let i = 0; i < MAC_BYTES; i++) difference |= mac[i]! ^ message[at + i]!;
  return difference === 0;
}
