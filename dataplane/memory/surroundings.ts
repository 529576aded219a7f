// What a gateway or a client in memory is given: clocks, randomness, and the link that takes its
// datagrams. Tests of the data plane give virtual time, network.ts gives real time.

import { KEY_BYTES } from '../constants.ts';
import type { Random } from '../noise/handshake.ts';
import { type Primitives, portablePrimitives } from '../noise/primitives.ts';
import type { TypeScriptEngine } from '../io/engine.ts';
import type { Endpoint } from '../wire/address.ts';
import { address } from '../wire/packets.ts';

/** Clocks, randomness and link of a gateway or a client. */
export interface Surroundings {
  /** A clock that only goes forward, ms. */
  readonly now: number;
  /** Unix time, ms. */
  readonly wallMs: number;
  readonly random: Random;
  /** Takes a datagram; the receiver may keep the bytes. */
  transmit(bytes: Uint8Array, from: Endpoint, to: Endpoint): void;
  /** How many bytes of datagrams the link takes now; left out: any number. */
  sendRoom?(): number;
}

/** Makes the engine of a gateway or a client; tests make one that they can observe. */
export type MakeEngine<E extends TypeScriptEngine> = (
  ...parts: ConstructorParameters<typeof TypeScriptEngine>
) => E;

/** The identity of a gateway or a client, and its place on the link. */
export interface Placed {
  readonly endpoint: Endpoint;
  readonly primitives?: Primitives;
  /** 32 bytes; random where it is left out. */
  readonly privateKey?: Uint8Array;
}

/** A datagram and its sender. */
export interface Arrival {
  readonly bytes: Uint8Array;
  readonly from: Endpoint;
}

/** A participant sends every datagram from the same endpoint, so its text is read once. */
const addresses = new WeakMap<Endpoint, Uint8Array>();

/** The address of an endpoint, 4 or 16 bytes. */
export function bytesOf(endpoint: Endpoint): Uint8Array {
  let bytes = addresses.get(endpoint);
  if (bytes === undefined) {
    bytes = address(endpoint.address);
    addresses.set(endpoint, bytes);
  }
  return bytes;
}

/** The public key of a private one. */
export function publicKeyOf(privateKey: Uint8Array, primitives = portablePrimitives): Uint8Array {
  const publicKey = new Uint8Array(KEY_BYTES);
  primitives.publicKey(publicKey, privateKey);
  return publicKey;
}

/** Makes so many random bytes. */
export function randomBytes(random: Random, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  random(bytes);
  return bytes;
}
