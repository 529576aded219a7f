// A client that begins again and again, without a cookie, and counts what it is told. Run on a host
// as `knocker.ts HOST PORT FROM_ADDRESS FROM_PORT SERVER_KEY PRIVATE_KEY PRESHARED_KEY TRIES EVERY_MS`.
// Each try is an initiation as a client sends that was never told a cookie; where it is told one, it
// tries with that at once. Prints {"tries","served","answered"}: in how many of the tries a handshake
// response came, and in how many that or a cookie, however late.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { choosePrimitives, systemRandom } from '../../dataplane/io/crypto.ts';
import { loadAddon } from '../../dataplane/native/index.ts';
import { CookieMaker } from '../../dataplane/noise/cookie.ts';
import { Handshake, InitiatorState, type NoisePeer } from '../../dataplane/noise/handshake.ts';
import { derivePublicKey } from '../../dataplane/noise/keys.ts';
import { TimestampSource } from '../../dataplane/noise/tai64n.ts';
import { COOKIE_REPLY, HANDSHAKE_RESPONSE, initiation } from '../../dataplane/wire/messages.ts';

const [host, port, address, fromPort, serverKey, privateKey, presharedKey, tries, everyMs] =
  process.argv.slice(2) as [string, ...string[]];
const bytesOf = (text = ''): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

const primitives = choosePrimitives(loadAddon().addon, 'openssl');
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

function knock(of: number): void {
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
    if (makers.get(of)?.consumeReply(message, performance.now()) === true) knock(of);
});

while (number < Number(tries)) {
  number++;
  knock(number);
  await sleep(Number(everyMs));
}
await sleep(2_000);
const found = { tries: number, served: served.size, answered: answered.size };
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit();
