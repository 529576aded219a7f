// Makes small datagrams as cheaply as one process can, for `npm run bench:packets`: whole batches
// from memory, sealed and sent by the addon, one datagram each (no trains), paced by the clock.
//
//   packet-source.ts device GATEWAY_PUBLIC_KEY PRIVATE_KEY GATEWAY:PORT OWN_ADDRESS TO
//   packet-source.ts to-device TO
//
// A device has a session. It reads its socket only when it sends.
//
// It writes "ready" when it can send. Then it reads lines: `RATE SECONDS FLOWS BYTES BURST`, with packets
// a second and at once, and answers each with how many packets it made.

import { createInterface } from 'node:readline';
import { SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../../dataplane/constants.ts';
import {
  ALONE,
  DESCRIPTOR_WORDS,
  LENGTH,
  MARK,
  MARK_DROP,
  OFFSET,
} from '../../dataplane/contract.ts';
import { ConfigInForce } from '../../dataplane/diff.ts';
import { parseAddress } from '../../dataplane/index.ts';
import { systemClock } from '../../dataplane/io/clock.ts';
import { EVENT_UDP, NativeEngine } from '../../dataplane/native/index.ts';
import { derivePublicKey } from '../../dataplane/noise/keys.ts';
import { systemRandom } from '../../dataplane/io/crypto.ts';
import { Pipeline } from '../../dataplane/worker/pipeline.ts';
import {
  createEndpointTable,
  ENDPOINT_BYTES,
  writeEndpoint,
} from '../../dataplane/wire/address.ts';
import { endpointLayout } from '../../dataplane/wireguard/tunnel.ts';
import { addon, implementations, MTU } from '../support/dataplane/native.ts';
import { counting, udp } from '../support/dataplane/packets.ts';

const [mode = '', ...words] = process.argv.slice(2);
/** The most packets at once. */
const BATCH = 64;
/** The port of the first flow; each further flow has the next one. */
const FIRST_PORT = 9_000;
/** In an endpoint record: until when datagrams are sent one by one, in seconds. */
const SINGLE_UNTIL = 44;
const clock = systemClock(addon!.bootTime);
const [, primitives] = implementations.at(-1)!;

const endpoints = createEndpointTable(endpointLayout.total);
const socket = addon!.openUdp(false, 0);
const engine = new NativeEngine(addon!, primitives, endpoints, endpointLayout.total, {
  udp4: socket,
  udp6: -1,
  tun: -1,
  wake: -1,
  tunTakesUdp: false,
  mtu: MTU,
});

/** From now on what goes to this endpoint goes alone. */
function sendSingly(slot: number): void {
  new DataView(endpoints.bytes.buffer).setUint32(
    slot * ENDPOINT_BYTES + SINGLE_UNTIL,
    0xffffffff,
    true,
  );
}

/** Sends so many packets at once; `flow` is that of the first one. */
type Send = (flow: number, flows: number, bytes: number, burst: number) => void;

function device([publicKey = '', privateKey = '', place = '', own = '', to = '']: string[]): {
  connect: () => Promise<void>;
  send: Send;
} {
  const [gateway = '', port] = place.split(':');
  const key = Buffer.from(privateKey, 'base64');
  const network = parseAddress(to)!;
  const pipeline = new Pipeline({
    engine,
    team: ALONE,
    identity: { privateKey: key, publicKey: derivePublicKey(key) },
    random: systemRandom,
    timestampFloorMs: 0,
    ipv4: {
      network,
      prefixBits: 24,
      address: Uint8Array.from([...network.subarray(0, 3), 250]),
    },
    ipv6: null,
    defaultAction: 'accept',
    allowsMetadata: false,
    listenPort: addon!.boundPort(socket),
    mtu: MTU,
    hasTun: true,
  });
  const endpoint = { address: gateway, port: Number(port) };
  const peer = {
    publicKey,
    presharedKey: new Uint8Array(32),
    ipv4: network,
    ipv6: null,
    scope: 'gateway',
    resume: { endpoint, heardAtMs: Date.now() },
  };
  const peers = new Map([[publicKey, peer]]);
  pipeline.apply(
    new ConfigInForce().replace({ peers, rules: new Map() }),
    clock.now(),
    clock.wall(),
  );
  let loaded = '';
  const load: Send = (flow, flows, bytes, burst) => {
    const { packets } = engine;
    const wanted = `${flow} ${flows} ${bytes} ${burst}`;
    for (let i = 0; i < burst; i++) {
      const offset = i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
      const at = i * DESCRIPTOR_WORDS;
      if (loaded !== wanted) {
        packets.bytes.fill(0, offset - 10, offset);
        const destinationPort = FIRST_PORT + ((flow + i) % flows);
        const data = counting(bytes - 28);
        packets.bytes.set(udp({ source: own, destination: to, destinationPort, data }), offset);
      }
      packets.descriptors[at + OFFSET] = offset;
      packets.descriptors[at + LENGTH] = bytes;
      packets.descriptors[at + MARK] = MARK_DROP;
    }
    loaded = wanted;
    packets.count = burst;
  };
  const turn = (waitMs: number): void => {
    if ((engine.poll(waitMs) & EVENT_UDP) !== 0) {
      engine.receive();
      pipeline.inbound(clock.now(), clock.wall());
      engine.datagrams.count = 0;
    }
    pipeline.expire(clock.now(), clock.wall());
    engine.flush();
  };
  const connect = async (): Promise<void> => {
    load(0, 1, 64, 1);
    pipeline.outbound(clock.now(), clock.wall());
    for (let i = 0; (pipeline.sample().peers[0]?.latestHandshakeMs ?? 0) === 0; i++) {
      if (i === 200) throw new Error('no session');
      turn(20);
    }
    sendSingly(endpointLayout.peers);
  };
  const send: Send = (flow, flows, bytes, burst) => {
    turn(0);
    load(flow, flows, bytes, burst);
    pipeline.outbound(clock.now(), clock.wall());
    engine.flush();
  };
  return { connect, send };
}

/** Plain datagrams of a host. */
function host([to = '']: string[]): Send {
  const address = parseAddress(to)!;
  const slots = 64;
  for (let slot = 0; slot < slots; slot++) {
    writeEndpoint(endpoints, slot, address, FIRST_PORT + slot);
    sendSingly(slot);
  }
  return (flow, flows, bytes, burst) => {
    const message = counting(bytes - 28);
    for (let i = 0; i < burst; i++) engine.send(message, (flow + i) % flows);
    engine.flush();
  };
}

/** Sends at a rate; a batch that is late is sent at once. Returns how many packets it made. */
function pace(
  send: Send,
  rate: number,
  seconds: number,
  flows: number,
  bytes: number,
  burst: number,
): number {
  const began = performance.now();
  let made = 0;
  for (;;) {
    const elapsed = performance.now() - began;
    if (elapsed >= seconds * 1_000) return made;
    const aheadMs = (made / rate) * 1_000 - elapsed;
    if (aheadMs > 0) {
      Atomics.wait(sleeper, 0, 0, aheadMs);
      continue;
    }
    send(made % flows, flows, bytes, burst);
    made += burst;
  }
}
const sleeper = new Int32Array(new SharedArrayBuffer(4));

let send: Send;
if (mode === 'to-device') send = host(words);
else {
  const one = device(words);
  await one.connect();
  send = one.send;
}
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const [rate = 0, seconds = 0, flows = 1, bytes = 64, burst = BATCH] = line.split(' ').map(Number);
  process.stdout.write(`${pace(send, rate, seconds, flows, bytes, burst)}\n`);
}
engine.close();
