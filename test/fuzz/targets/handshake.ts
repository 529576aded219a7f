// Handshake messages: damaged, forged, replayed, under load. What does not come from the other
// side's keys is refused with a reason, answered with nothing and leaves no key, and the exchange
// that it disturbed still ends well with the true message. The macs are no obstacle: whoever knows
// a public key can make mac1, so it is made right again where the input says so.

import { strict as assert } from 'node:assert';
import { CookieChecker, CookieMaker } from '../../../dataplane/noise/cookie.ts';
import type { Endpoint } from '../../../dataplane/wire/address.ts';
import {
  COOKIE_REPLY,
  cookieReply,
  HANDSHAKE_INITIATION,
  HANDSHAKE_RESPONSE,
  initiation,
  response,
} from '../../../dataplane/wire/messages.ts';
import {
  type Client,
  type Flight,
  gatewayAndClient,
  type Node,
  seededRandom,
  type World,
} from '../../support/dataplane/simulation.ts';
import { udp } from '../../support/dataplane/packets.ts';
import { implementations } from '../../support/dataplane/native.ts';
import { lowOrderPoints } from '../../vectors/primitives.ts';
import { ChoiceReader } from '../reader.ts';
import { forgeInitiation, forgeResponse } from './forge.ts';

const packet = udp({ source: '10.0.0.2', destination: '10.0.0.1', data: 'hello' });
const stranger: Endpoint = { address: '203.0.113.66', port: 666 };
const CHANGES_MAX = 8;
/** More initiations than one source may have waiting. */
const FLOOD_BATCHES = 3;
const FLOOD_BATCH = 64;
/** How long a device may take whose handshake was spoilt by one who has keys, or by a flood. */
const PATIENCE_S = 60;

// The quickest that is here: most of the time goes into Diffie-Hellmans.
const [, primitives] = implementations.at(-1)!;

interface Scene {
  readonly world: World;
  readonly gateway: Node;
  readonly client: Client;
}

/** Where the fields of a message begin, and where it ends. */
const layouts = {
  [HANDSHAKE_INITIATION]: [0, ...Object.values(initiation)],
  [HANDSHAKE_RESPONSE]: [0, ...Object.values(response)],
  [COOKIE_REPLY]: [0, ...Object.values(cookieReply)],
} as const;

const mac1At = { [HANDSHAKE_INITIATION]: initiation.mac1, [HANDSHAKE_RESPONSE]: response.mac1 };

type HandshakeType = keyof typeof mac1At;

/** What the keys of the other side vouch for: the rest is under no more than mac1. */
const vouched = {
  [HANDSHAKE_INITIATION]: [initiation.ephemeral, initiation.mac1],
  [HANDSHAKE_RESPONSE]: [response.receiver, response.mac1],
} as const;

const stories = [
  (scene: Scene, reader: ChoiceReader) => strike(scene, HANDSHAKE_INITIATION, reader),
  (scene: Scene, reader: ChoiceReader) => strike(scene, HANDSHAKE_RESPONSE, reader),
  handCookie,
  pretendToBeDevice,
  pretendToBeGateway,
  flood,
] as const;

/** Plays one story; returns what was said of the messages. */
export function handshake(input: Uint8Array): string {
  const reader = new ChoiceReader(input);
  const scene = gatewayAndClient(1, { gateway: { primitives }, client: { primitives } });
  const { world, gateway, client } = scene;
  stories[reader.byte() % stories.length]!(scene, reader);
  assert.equal(gateway.drops()['internal_error'], undefined);
  // A story may have put one more on the link, which it had damaged.
  const cookies = world.sent(COOKIE_REPLY, gateway).length;
  assert(cookies >= (gateway.drops()['cookie_sent'] ?? 0), 'each cookie that was owed was sent');
  return [...Object.keys(gateway.drops()), ...Object.keys(client.drops()).map((name) => `${name}'`)]
    .sort()
    .join(' ');
}

// ---- stories ---------------------------------------------------------------------------------

/** A message is changed on its way; the true one comes after it. */
function strike(scene: Scene, type: HandshakeType, reader: ChoiceReader): void {
  const receiver = type === HANDSHAKE_INITIATION ? scene.gateway : scene.client;
  let isGenuine = false;
  once(scene.world, type, (flight) => {
    const damaged = damage(flight.bytes, type, receiver.publicKey, reader);
    isGenuine = isVouchedFor(damaged, flight.bytes, type);
    if (isGenuine) receiver.receive(damaged, flight.from);
    else refuses(scene, receiver, damaged, origin(flight.from, reader));
    return Buffer.compare(damaged, flight.bytes) === 0;
  });
  finish(scene, () => isGenuine);
}

/** A cookie reply that nobody owed comes before the response: the right one, or one that is not. */
function handCookie(scene: Scene, reader: ChoiceReader): void {
  const { world, gateway, client } = scene;
  const key = reader.byte() < 192 ? gateway.publicKey : client.publicKey;
  const checker = new CookieChecker(primitives, key, seededRandom(3));
  let isGenuine = false;
  once(world, HANDSHAKE_RESPONSE, ({ from }) => {
    const { bytes } = world.sent(HANDSHAKE_INITIATION, client).at(-1)!;
    const reply = new Uint8Array(cookieReply.bytes);
    checker.createReply(reply, bytes, initiation.mac1, new Uint8Array(6), world.now);
    const damaged = damage(reply, COOKIE_REPLY, client.publicKey, reader);
    refuses(scene, client, damaged, origin(from, reader));
    isGenuine = key === gateway.publicKey && Buffer.compare(damaged, reply) === 0;
    return reader.byte() < 128;
  });
  finish(scene, () => true);
  // Without the response the device called again, and showed the cookie if it was one.
  const again = world.sent(HANDSHAKE_INITIATION, client)[1];
  const shows = again?.bytes.subarray(initiation.mac2).some((byte) => byte !== 0);
  if (again !== undefined) assert.equal(shows, isGenuine, 'a cookie counts that is one');
}

/** Somebody calls the gateway: the device itself, or one who has not all of its keys. */
function pretendToBeDevice(scene: Scene, reader: ChoiceReader): void {
  const { world, gateway, client } = scene;
  if (reader.byte() < 64) finish(scene);
  const { message, isDevice } = forgeInitiation(primitives, gateway, client, reader);
  const damaged = damage(message, HANDSHAKE_INITIATION, gateway.publicKey, reader);
  const isGenuine = isDevice && isVouchedFor(damaged, message, HANDSHAKE_INITIATION);
  if (isGenuine) gateway.receive(damaged, client.endpoint);
  else refuses(scene, gateway, damaged, stranger);
  world.run(50);
  // What was taken once is not taken again; what was not is not taken now.
  refuses(scene, gateway, damaged, client.endpoint);
  // A device that dates itself into the future has nobody else to blame.
  if (!isGenuine) finish(scene);
}

/** Somebody answers the device who has not the keys, or whose answer is changed. */
function pretendToBeGateway(scene: Scene, reader: ChoiceReader): void {
  const { world, gateway, client } = scene;
  let isGenuine = false;
  once(world, HANDSHAKE_RESPONSE, () => {
    const { bytes } = world.sent(HANDSHAKE_INITIATION, client).at(-1)!;
    const { message, isGateway } = forgeResponse(primitives, gateway, client, bytes, reader);
    const damaged = damage(message, HANDSHAKE_RESPONSE, client.publicKey, reader);
    isGenuine = isGateway && isVouchedFor(damaged, message, HANDSHAKE_RESPONSE);
    if (isGenuine) client.receive(damaged, gateway.endpoint);
    else refuses(scene, client, damaged, stranger);
    return false;
  });
  finish(scene, () => isGenuine);
}

/** The device's own address is full of calls, so the device must show a cookie. */
function flood(scene: Scene, reader: ChoiceReader): void {
  const { world, gateway, client } = scene;
  const junk = new Uint8Array(initiation.bytes);
  junk[0] = HANDSHAKE_INITIATION;
  new CookieMaker(primitives, gateway.publicKey).addMacs(junk, initiation.mac1, world.now);
  const from = { ...client.endpoint, port: 1 + reader.byte() };
  for (let i = 0; i < FLOOD_BATCHES; i++)
    gateway.receiveAll(Array.from({ length: FLOOD_BATCH }, () => ({ bytes: junk, from })));
  once(world, HANDSHAKE_INITIATION, (flight) => {
    const damaged = damage(flight.bytes, HANDSHAKE_INITIATION, gateway.publicKey, reader);
    world.transmit(damaged, origin(flight.from, reader), flight.to);
    return reader.byte() < 64;
  });
  once(world, COOKIE_REPLY, (flight) => {
    const damaged = damage(flight.bytes, COOKIE_REPLY, client.publicKey, reader);
    world.transmit(damaged, flight.from, client.endpoint);
    return reader.byte() < 64;
  });
  finish(scene, () => true);
}

// ---- what stories are made of ----------------------------------------------------------------

/** Has `meet` look at the next message of a type before it arrives; true: it is lost. */
function once(world: World, type: number, meet: (flight: Flight) => boolean): void {
  const others = world.loses;
  let isMet = false;
  world.loses = (flight) => {
    if (isMet || flight.bytes[0] !== type) return others(flight);
    isMet = true;
    return meet(flight);
  };
}

function origin(from: Endpoint, reader: ChoiceReader): Endpoint {
  return reader.byte() < 192 ? from : stranger;
}

/** Delivers what must be answered with nothing and must leave no key. */
function refuses(
  { world }: Scene,
  receiver: Node | Client,
  bytes: Uint8Array,
  from: Endpoint,
): void {
  const keys = receiver.engine.liveKeys;
  const sent = world.sent(0, receiver).length;
  receiver.receive(bytes, from);
  assert.equal(receiver.engine.liveKeys, keys, 'no key is left');
  assert.equal(world.sent(0, receiver).length, sent, 'nothing is answered');
}

/** A packet of the device gets through: at once, or, where a story had its part in it, in time. */
function finish({ world, gateway, client }: Scene, isDisturbed = (): boolean => false): void {
  client.send(packet);
  // A handshake may be asked for again after five seconds; the true message is not lost.
  world.run(200);
  if (!isDisturbed())
    assert.equal(gateway.delivered.length, 1, 'the true message ended the exchange');
  for (let i = 0; i < PATIENCE_S && gateway.delivered.length === 0; i++) {
    client.send(packet);
    world.run(1_000);
  }
  assert(gateway.delivered.length > 0, 'the device is served in time');
  gateway.delivered.length = 0;
}

function isVouchedFor(made: Uint8Array, message: Uint8Array, type: HandshakeType): boolean {
  const [from, to] = vouched[type];
  const isSame = (start: number, end: number): boolean =>
    Buffer.compare(made.subarray(start, end), message.subarray(start, end)) === 0;
  return made.length === message.length && isSame(0, 4) && isSame(from, to);
}

// ---- damage ----------------------------------------------------------------------------------

/** Changes fields; then makes the macs right again, or not; then cuts the end or adds to it. */
function damage(
  message: Uint8Array,
  type: keyof typeof layouts,
  publicKey: Uint8Array,
  reader: ChoiceReader,
): Uint8Array {
  const bytes = message.slice();
  const layout = layouts[type];
  for (let changes = reader.byte() % CHANGES_MAX; changes > 0; changes--) {
    const field = reader.byte() % (layout.length - 1);
    change(bytes.subarray(layout[field], layout[field + 1]), reader);
  }
  if (type !== COOKIE_REPLY && reader.byte() < 192)
    new CookieMaker(primitives, publicKey).addMacs(bytes, mac1At[type], 0);
  const cut = reader.byte();
  if (cut < 192) return bytes;
  if (cut < 224) return bytes.slice(0, reader.byte() % bytes.length);
  return Uint8Array.from([...bytes, ...reader.slice(1 + (reader.byte() % 64))]);
}

function change(field: Uint8Array, reader: ChoiceReader): void {
  switch (reader.byte() % 5) {
    case 0:
      field[reader.byte() % field.length]! ^= reader.byte();
      return;
    case 1:
      field.fill(0);
      return;
    case 2:
      field.fill(255);
      return;
    case 3: {
      const point = lowOrderPoints[reader.byte() % lowOrderPoints.length]!;
      field.set(Buffer.from(point, 'hex').subarray(0, field.length));
      return;
    }
    default:
      field.set(reader.slice(field.length));
  }
}
