// The macs and cookies of WireGuard (paper, sections 5.4.4 and 5.4.7). The checker belongs to the
// receiver of handshake messages: it checks mac1 and mac2 and makes cookie replies. The maker
// belongs to their sender: it writes both macs and keeps the cookie that it received.

import {
  COOKIE_LATENCY_MS,
  COOKIE_NONCE_BYTES,
  COOKIE_REFRESH_TIME_MS,
  KEY_BYTES,
  MAC_BYTES,
  TAG_BYTES,
} from '../constants.ts';
import { sameBytes } from '../wire/bytes.ts';
import { COOKIE_REPLY, cookieReply, initiation } from '../wire/messages.ts';
import type { Random } from './handshake.ts';
import type { Primitives } from './primitives.ts';

const encoder = new TextEncoder();
const LABEL_MAC1 = encoder.encode('mac1----');
const LABEL_COOKIE = encoder.encode('cookie--');
const SECRET_BYTES = 32;
/** Bytes of the sender index of a message, which is at the same place in each type. */
const INDEX_BYTES = 4;
/** Where the nonce of a cookie reply counts: its last 32 bits. */
const NONCE_COUNTER = COOKIE_NONCE_BYTES - 4;
const NO_SOURCE = new Uint8Array(0);

/** Hash(label || public key): the key of mac1 or of the encryption of cookies. */
function labelledKey(primitives: Primitives, label: Uint8Array, publicKey: Uint8Array): Uint8Array {
  const key = new Uint8Array(KEY_BYTES);
  primitives.hash(key, label, publicKey);
  return key;
}

/** Checks macs and makes cookie replies. */
export class CookieChecker {
  readonly #primitives: Primitives;
  readonly #random: Random;
  readonly #mac1Key: Uint8Array;
  readonly #cookieKey: Uint8Array;
  readonly #secret = new Uint8Array(SECRET_BYTES);
  #secretMadeAt = Number.NEGATIVE_INFINITY;
  readonly #mac = new Uint8Array(MAC_BYTES);
  readonly #cookie = new Uint8Array(MAC_BYTES);
  /**
   * The source for which `#cookie` was computed; a reply goes to the source that was just checked.
   */
  #cookieSource = NO_SOURCE;
  /**
   * The nonce of replies. It is random at first for each secret, and then its last bytes count. It
   * must be unique under one key, so a flood need not cost randomness for each datagram; the first
   * 16 bytes stay, so the addon need not derive a subkey for each datagram.
   */
  readonly #nonce = new Uint8Array(COOKIE_NONCE_BYTES);
  readonly #nonceView = new DataView(this.#nonce.buffer);
  readonly #mac1 = new Uint8Array(MAC_BYTES);
  readonly #sealedCookie = new Uint8Array(MAC_BYTES + TAG_BYTES);

  constructor(primitives: Primitives, publicKey: Uint8Array, random: Random) {
    this.#primitives = primitives;
    this.#random = random;
    this.#mac1Key = labelledKey(primitives, LABEL_MAC1, publicKey);
    this.#cookieKey = labelledKey(primitives, LABEL_COOKIE, publicKey);
  }

  /** Whether mac1 is right: the sender knows our public key. */
  hasValidMac1(message: Uint8Array, mac1At: number): boolean {
    this.#primitives.mac(this.#mac, this.#mac1Key, message.subarray(0, mac1At));
    return equalMacs(this.#mac, message, mac1At);
  }

  /**
   * Whether mac2 is right: the sender received our cookie at `source` (its port and address, as
   * bytes).
   */
  hasValidMac2(message: Uint8Array, mac1At: number, source: Uint8Array, now: number): boolean {
    if (now - this.#secretMadeAt >= COOKIE_REFRESH_TIME_MS) return false;
    // A sender without a cookie writes zeros (5.4.4). In a flood this is usual, so it costs no
    // hash.
    if (isZero(message, mac1At + MAC_BYTES)) return false;
    this.#makeCookie(source);
    this.#primitives.mac(this.#mac, this.#cookie, message.subarray(0, mac1At + MAC_BYTES));
    return equalMacs(this.#mac, message, mac1At + MAC_BYTES);
  }

  /** Writes into `out` (64 bytes) the cookie reply to `message`. */
  createReply(
    out: Uint8Array,
    message: Uint8Array,
    mac1At: number,
    source: Uint8Array,
    now: number,
  ): void {
    if (now - this.#secretMadeAt >= COOKIE_REFRESH_TIME_MS) this.#renew(now);
    this.#makeCookie(source);
    this.#nonceView.setUint32(NONCE_COUNTER, this.#nonceView.getUint32(NONCE_COUNTER) + 1);
    // In a flood there are many replies, so this allocates nothing.
    for (let i = 0; i < MAC_BYTES; i++) this.#mac1[i] = message[mac1At + i]!;
    this.#primitives.xseal(
      this.#sealedCookie,
      this.#cookieKey,
      this.#nonce,
      this.#cookie,
      this.#mac1,
    );
    for (let i = 1; i < cookieReply.receiver; i++) out[i] = 0;
    out[0] = COOKIE_REPLY;
    // The receiver of the reply is the sender of the message.
    for (let i = 0; i < INDEX_BYTES; i++)
      out[cookieReply.receiver + i] = message[initiation.sender + i]!;
    out.set(this.#nonce, cookieReply.nonce);
    out.set(this.#sealedCookie, cookieReply.cookie);
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

/** Writes macs and keeps cookies; one per peer, made at the first message to it. */
export class CookieMaker {
  readonly #primitives: Primitives;
  readonly #remotePublicKey: Uint8Array;
  /** The latest cookie; null before the first. */
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

  /**
   * Takes the cookie from a reply to our last message; false when the reply is not authentic or no
   * reply is expected.
   */
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

  /**
   * A key for this peer. It is computed for each message: keeping both keys of all peers costs
   * more.
   */
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
