// A client that begins a handshake again and again, each time without a cookie, and counts the
// answers. Run on a host of its own as
//
//   handshake-attempts.ts HOST PORT FROM_ADDRESS FROM_PORT SERVER_KEY PRIVATE_KEY PRESHARED_KEY
//     TRIES EVERY_MS
//
// A try is an initiation without a cookie; if a cookie reply comes, the client sends the initiation
// with that cookie at once. Prints {"tries","served","answered"}: the number of tries, those that a
// handshake response answered, and those that a response or a cookie reply answered, however late.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { choosePrimitives, systemRandom } from '../../../dataplane/io/crypto.ts';
import { loadAddon } from '../../../dataplane/native/index.ts';
import { CookieMaker } from '../../../dataplane/noise/cookie.ts';
import { Handshake, InitiatorState, type NoisePeer } from '../../../dataplane/noise/handshake.ts';
import { derivePublicKey } from '../../../dataplane/noise/keys.ts';
import { TimestampSource } from '../../../dataplane/noise/tai64n.ts';
import { COOKIE_REPLY, HANDSHAKE_RESPONSE, initiation } from '../../../dataplane/wire/messages.ts';

const [host, port, address, fromPort, serverKey, privateKey, presharedKey, tries, everyMs] =
  process.argv.slice(2) as [string, ...string[]];
const bytesOf = (text = ''): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

const primitives = choosePrimitives(loadAddon().addon);
const identity = {
  privateKey: bytesOf(privateKey),
  publicKey: derivePublicKey(bytesOf(privateKey)),
};
const peer: NoisePeer = {
  publicKey: bytesOf(serverKey),
  presharedKey: bytesOf(presharedKey),
  staticShared: null,
};
const handshake = new Handshake(primitives, identity, systemRandom);
const timestamps = new TimestampSource();
const timestamp = new Uint8Array(12);
const socket = createSocket('udp4');
socket.bind(Number(fromPort), address);
await once(socket, 'listening');

let number = 0;
const answered = new Set<number>();
const served = new Set<number>();
/** By the number of the try. */
const makers = new Map<number, CookieMaker>();

function attempt(of: number): void {
  const maker = makers.get(of) ?? new CookieMaker(primitives, peer.publicKey);
  makers.set(of, maker);
  const message = new Uint8Array(initiation.bytes);
  timestamps.renew(timestamp, Date.now());
  handshake.createInitiation(message, peer, new InitiatorState(primitives), of, timestamp);
  maker.addMacs(message, initiation.mac1, performance.now());
  socket.send(message, Number(port), host);
}

socket.on('message', (message) => {
  const of = message.readInt32LE(message[0] === HANDSHAKE_RESPONSE ? 8 : 4);
  answered.add(of);
  if (message[0] === HANDSHAKE_RESPONSE) served.add(of);
  else if (message[0] === COOKIE_REPLY)
    if (makers.get(of)?.consumeReply(message, performance.now()) === true) attempt(of);
});

while (number < Number(tries)) {
  number++;
  attempt(number);
  await sleep(Number(everyMs));
}
await sleep(2_000);
const found = { tries: number, served: served.size, answered: answered.size };
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit();
