// Handshake messages made by those who have some of the keys, or all of them: the device's with a
// date of the input's choice, and those of people who know what is public and no more.

import {
  createTransportKeys,
  Handshake,
  type Identity,
  InitiatorState,
} from '../../../dataplane/noise/handshake.ts';
import { CookieMaker } from '../../../dataplane/noise/cookie.ts';
import { derivePublicKey } from '../../../dataplane/noise/keys.ts';
import type { Primitives } from '../../../dataplane/noise/primitives.ts';
import { initiation, response } from '../../../dataplane/wire/messages.ts';
import { seededRandom } from '../../support/dataplane/simulation.ts';
import { counting } from '../../support/dataplane/packets.ts';
import type { ChoiceReader } from '../reader.ts';

const NO_KEY = new Uint8Array(32);
const otherKey = counting(32, 77);
const other: Identity = { privateKey: otherKey, publicKey: derivePublicKey(otherKey) };

/** An initiation to the gateway, and whether the device's own keys made it. */
export function forgeInitiation(
  primitives: Primitives,
  gateway: Identity,
  client: Identity,
  reader: ChoiceReader,
): { message: Uint8Array; isDevice: boolean } {
  const identities: readonly Identity[] = [
    client,
    { privateKey: otherKey, publicKey: client.publicKey },
    other,
    gateway,
  ];
  const identity = identities[reader.byte() % identities.length]!;
  const message = new Uint8Array(initiation.bytes);
  const peer = { publicKey: gateway.publicKey, presharedKey: NO_KEY, staticShared: null };
  const state = new InitiatorState(primitives);
  const timestamp = padded(reader.slice(12), 12);
  new Handshake(primitives, identity, seededRandom(7)).createInitiation(
    message,
    peer,
    state,
    reader.integer(),
    timestamp,
  );
  new CookieMaker(primitives, gateway.publicKey).addMacs(message, initiation.mac1, 0);
  return { message, isDevice: identity === client };
}

/** A response to an initiation of the device, and whether the gateway's keys made it. */
export function forgeResponse(
  primitives: Primitives,
  gateway: Identity,
  client: Identity,
  received: Uint8Array,
  reader: ChoiceReader,
): { message: Uint8Array; isGateway: boolean } {
  const hasKey = reader.byte() < 192;
  const handshake = new Handshake(primitives, hasKey ? gateway : other, seededRandom(9));
  const presharedKey = padded(reader.slice(reader.byte() < 128 ? 0 : 32), 32);
  const peer = { publicKey: client.publicKey, presharedKey, staticShared: null };
  handshake.consumeInitiation(received, () => peer);
  const asked = new DataView(received.buffer, received.byteOffset).getInt32(
    initiation.sender,
    true,
  );
  const receiver = reader.byte() < 192 ? asked : reader.integer() | 0;
  const message = new Uint8Array(response.bytes);
  handshake.createResponse(message, peer, reader.integer(), receiver, createTransportKeys());
  new CookieMaker(primitives, client.publicKey).addMacs(message, response.mac1, 0);
  const hasSecret = presharedKey.every((byte) => byte === 0);
  return { message, isGateway: hasKey && hasSecret && receiver === asked };
}

function padded(bytes: Uint8Array, length: number): Uint8Array {
  const whole = new Uint8Array(length);
  whole.set(bytes);
  return whole;
}
