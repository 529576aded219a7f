// The four messages of WireGuard (paper, section 5.4): their types, sizes and field offsets, and
// whether a datagram has the form of one. Integers are little-endian. Keys are not known here.

import { TRANSPORT_OVERHEAD_BYTES } from '../constants.ts';

/** Message types: the first byte; the next three bytes are reserved and zero. */
export const HANDSHAKE_INITIATION = 1;
export const HANDSHAKE_RESPONSE = 2;
export const COOKIE_REPLY = 3;
export const TRANSPORT_DATA = 4;

/**
 * Offsets in an initiation (5.4.2): type, sender, ephemeral, encrypted static, encrypted timestamp,
 * mac1, mac2.
 */
export const initiation = {
  sender: 4,
  ephemeral: 8,
  static: 40,
  timestamp: 88,
  mac1: 116,
  mac2: 132,
  bytes: 148,
} as const;

/**
 * Offsets in a response (5.4.3): type, sender, receiver, ephemeral, encrypted empty, mac1, mac2.
 */
export const response = {
  sender: 4,
  receiver: 8,
  ephemeral: 12,
  empty: 44,
  mac1: 60,
  mac2: 76,
  bytes: 92,
} as const;

/** Offsets in a cookie reply (5.4.7): type, receiver, nonce, encrypted cookie. */
export const cookieReply = {
  receiver: 4,
  nonce: 8,
  cookie: 32,
  bytes: 64,
} as const;

/** Offsets in transport data (5.4.6): type, receiver, counter, encrypted packet. */
export const transport = {
  receiver: 4,
  counter: 8,
  packet: 16,
} as const;

/**
 * Returns the type of the message at `offset` when its size is right for that type, else 0. Never
 * throws: it reads only after the length is known.
 */
export function messageType(view: DataView, offset: number, length: number): number {
  if (length < TRANSPORT_OVERHEAD_BYTES) return 0;
  switch (view.getUint32(offset, true)) {
    case TRANSPORT_DATA:
      return TRANSPORT_DATA;
    case HANDSHAKE_INITIATION:
      return length === initiation.bytes ? HANDSHAKE_INITIATION : 0;
    case HANDSHAKE_RESPONSE:
      return length === response.bytes ? HANDSHAKE_RESPONSE : 0;
    case COOKIE_REPLY:
      return length === cookieReply.bytes ? COOKIE_REPLY : 0;
    default:
      return 0;
  }
}
