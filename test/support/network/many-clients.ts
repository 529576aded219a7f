// Thousands of WireGuard clients in one process, for benchmarks. Each has its own keys and
// sessions, and some of them share a socket. They answer handshakes that the gateway initiates, as
// a device does after a restart of the gateway. A client counts as served when a ping to the
// gateway came back in its current session. Run as a child process; parent and child exchange the
// messages below.
//
// The handshake is the gateway's own (dataplane/noise), transport data goes through node:crypto.

import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEY_BYTES } from '../../../dataplane/constants.ts';
import { choosePrimitives, systemRandom } from '../../../dataplane/io/crypto.ts';
import { loadAddon } from '../../../dataplane/native/index.ts';
import { CookieChecker, CookieMaker } from '../../../dataplane/noise/cookie.ts';
import {
  createTransportKeys,
  Handshake,
  type Identity,
  InitiatorState,
  type NoisePeer,
  type TransportKeys,
} from '../../../dataplane/noise/handshake.ts';
import type { Primitives } from '../../../dataplane/noise/primitives.ts';
import { TimestampSource } from '../../../dataplane/noise/tai64n.ts';
import {
  COOKIE_REPLY,
  HANDSHAKE_INITIATION,
  HANDSHAKE_RESPONSE,
  initiation,
  messageType,
  response,
  transport,
  TRANSPORT_DATA,
} from '../../../dataplane/wire/messages.ts';
import { echoRequest, viewOf } from '../dataplane/packets.ts';

/** A client, as its process gets it; keys in base64. */
export interface ClientConfig {
  readonly privateKey: string;
  readonly publicKey: string;
  readonly presharedKey: string;
  readonly ipv4: string;
}

/** What the parent asks. */
export type ToClients =
  | {
      type: 'begin';
      clients: ClientConfig[];
      serverPublicKey: string;
      port: number;
      gatewayIpv4: string;
    }
  /** Handshakes with all clients, so many in progress at once. */
  | { type: 'connect'; window: number }
  /** Every client makes its next ephemeral key, so that a restart finds the machine idle. */
  | { type: 'prepare' }
  /** From here on a client counts as served once it has a newer session. */
  | { type: 'forget' }
  /**
   * Handshakes with one client after the other, so many a second; each with a ping, or a keepalive.
   */
  | { type: 'rekey'; perSecond: number; seconds: number; pings: boolean }
  /** Pings of one client, to see how a change disturbs others. */
  | { type: 'probe'; everyMs: number; seconds: number };

/** What the child reports. */
export type FromClients =
  | { type: 'ready' }
  | { type: 'connected'; seconds: number }
  | { type: 'prepared' }
  /** How many are served; sent whenever that has grown, ten times a second at most. */
  | { type: 'served'; count: number; at: number }
  | { type: 'rekeyed'; count: number }
  | { type: 'probed'; sent: number; lost: number; medianMs: number; p99Ms: number; maxMs: number };

/** Clients of one socket: an initiation is tried on each, because it names no client. */
const CLIENTS_PER_SOCKET = 10;
/** A receiver index: the number of the client in the low bits, a count of its sessions above. */
const NUMBER_BITS = 14;
const RETRY_MS = 1_000;

const primitives = choosePrimitives(loadAddon().addon);

interface Session {
  readonly index: number;
  /**
   * Made once a session: from bytes, Node would make one for each packet, at three times the cost.
   */
  readonly send: KeyObject;
  readonly receive: KeyObject;
  readonly remoteIndex: number;
  counter: bigint;
}

/**
 * An ephemeral key made in advance, with its shared secret with the static key of the gateway. Both
 * run on one machine, so what a client computes while the gateway is busy slows the gateway down.
 */
class PreparedKey {
  readonly #server: Uint8Array;
  readonly #private = new Uint8Array(KEY_BYTES);
  readonly #public = new Uint8Array(KEY_BYTES);
  readonly #shared = new Uint8Array(KEY_BYTES);
  #isFresh = false;

  constructor(server: Uint8Array) {
    this.#server = server;
  }

  make(): void {
    systemRandom(this.#private);
    primitives.publicKey(this.#public, this.#private);
    primitives.sharedSecret(this.#shared, this.#private, this.#server);
    this.#isFresh = true;
  }

  /** Random bytes of a handshake: this key first, others after it. */
  readonly random = (bytes: Uint8Array): void => {
    if (this.#isFresh) bytes.set(this.#private);
    else systemRandom(bytes);
    this.#isFresh = false;
  };

  readonly primitives: Primitives = {
    ...primitives,
    publicKey: (out, key) => {
      if (this.#is(key)) out.set(this.#public);
      else primitives.publicKey(out, key);
    },
    sharedSecret: (out, key, other) => {
      if (other !== this.#server || !this.#is(key)) return primitives.sharedSecret(out, key, other);
      out.set(this.#shared);
      return true;
    },
  };

  #is(key: Uint8Array): boolean {
    return Buffer.compare(key, this.#private) === 0;
  }
}

class Client implements NoisePeer {
  readonly publicKey: Uint8Array;
  readonly presharedKey: Uint8Array;
  staticShared: Uint8Array | null = null;
  readonly identity: Identity;
  readonly checker: CookieChecker;
  readonly maker: CookieMaker;
  readonly ping: Uint8Array;
  readonly prepared: PreparedKey;
  readonly #number: number;
  readonly #handshake: Handshake;
  readonly #timestamp = new Uint8Array(12);
  readonly #timestamps = new TimestampSource();
  readonly #send: (bytes: Uint8Array) => void;
  #pending: { readonly index: number; readonly state: InitiatorState } | null = null;
  #generation = 0;
  /** The session for sending, and the one before it. */
  #session: Session | null = null;
  #previous: Session | null = null;
  isServed = false;
  /**
   * What confirms a session that it began: a ping, or the keepalive of a client that has no ping.
   */
  confirmsWithPing = true;
  /** Called with each ping that is answered. */
  onAnswer: (sequence: number) => void = () => undefined;

  constructor(
    number: number,
    config: ClientConfig,
    server: { publicKey: Uint8Array; ipv4: string },
    send: (bytes: Uint8Array) => void,
  ) {
    this.#number = number;
    this.#send = send;
    this.publicKey = server.publicKey;
    this.presharedKey = Buffer.from(config.presharedKey, 'base64');
    this.identity = {
      privateKey: Buffer.from(config.privateKey, 'base64'),
      publicKey: Buffer.from(config.publicKey, 'base64'),
    };
    this.prepared = new PreparedKey(server.publicKey);
    this.#handshake = new Handshake(this.prepared.primitives, this.identity, this.prepared.random);
    this.checker = new CookieChecker(primitives, this.identity.publicKey, systemRandom);
    this.maker = new CookieMaker(primitives, server.publicKey);
    this.ping = echoRequest(config.ipv4, server.ipv4);
  }

  initiate(): void {
    const message = new Uint8Array(initiation.bytes);
    const pending = { index: this.#newIndex(), state: new InitiatorState(primitives) };
    this.#pending = pending;
    this.#timestamps.renew(this.#timestamp, Date.now());
    const { index, state } = pending;
    this.#handshake.createInitiation(message, this, state, index, this.#timestamp);
    this.maker.addMacs(message, initiation.mac1, performance.now());
    this.#send(message);
  }

  takeResponse(message: Uint8Array): void {
    const keys = createTransportKeys();
    const pending = this.#pending;
    if (pending === null) return;
    if (!this.#handshake.consumeResponse(message, this, pending.state, keys)) return;
    this.#pending = null;
    this.#begin(pending.index, viewOf(message).getUint32(4, true), keys);
    if (this.confirmsWithPing) this.sendPing(0);
    else this.#sendData(KEEPALIVE);
  }

  /** The gateway initiates a handshake: the session begins when its first packet comes. */
  takeInitiation(message: Uint8Array): void {
    const server = this.#handshake.consumeInitiation(message, () => this);
    if (typeof server === 'number') return;
    const out = new Uint8Array(response.bytes);
    const keys = createTransportKeys();
    const remoteIndex = viewOf(message).getUint32(4, true);
    const index = this.#newIndex();
    if (!this.#handshake.createResponse(out, this, index, remoteIndex, keys)) return;
    this.maker.addMacs(out, response.mac1, performance.now());
    this.#begin(index, remoteIndex, keys);
    this.#send(out);
  }

  #begin(index: number, remoteIndex: number, keys: TransportKeys): void {
    this.#previous = this.#session;
    const send = createSecretKey(keys.send);
    const receive = createSecretKey(keys.receive);
    this.#session = { index, remoteIndex, send, receive, counter: 0n };
  }

  takeData(message: Uint8Array): void {
    const index = viewOf(message).getUint32(4, true);
    const session = [this.#session, this.#previous].find((one) => one?.index === index);
    if (session === undefined || session === null) return;
    const nonce = Buffer.alloc(12);
    nonce.set(message.subarray(transport.counter, transport.packet), 4);
    const opener = createDecipheriv('chacha20-poly1305', session.receive, nonce, TAG);
    opener.setAuthTag(message.subarray(-16));
    const packet = opener.update(message.subarray(transport.packet, -16));
    opener.final();
    if (packet.length === 0) return this.sendPing(0);
    // The answer to a ping: type 0, and the number behind the identifier.
    if (packet[20] !== 0) return;
    this.isServed = true;
    this.onAnswer(packet.readUInt16BE(26));
    // What is received is acknowledged, or the gateway would soon begin a new session (6.5). A
    // client may wait ten seconds with that; this one has nothing else to do.
    this.#sendData(KEEPALIVE);
  }

  sendPing(sequence: number): void {
    const packet = Buffer.alloc(Math.ceil(this.ping.length / 16) * 16);
    packet.set(this.ping);
    // The checksum follows the number (RFC 1624): it was made with number 1.
    packet.writeUInt16BE(sequence, 26);
    const sum = packet.readUInt16BE(22) + 1 - sequence;
    packet.writeUInt16BE(sum < 0 ? sum + 0xffff : sum > 0xffff ? sum - 0xffff : sum, 22);
    this.#sendData(packet);
  }

  #sendData(packet: Uint8Array): void {
    const session = this.#session;
    if (session === null) return;
    const header = Buffer.alloc(transport.packet);
    header.writeUInt32LE(TRANSPORT_DATA);
    header.writeUInt32LE(session.remoteIndex, 4);
    header.writeBigUInt64LE(session.counter++, 8);
    const nonce = Buffer.concat([Buffer.alloc(4), header.subarray(8)]);
    const sealer = createCipheriv('chacha20-poly1305', session.send, nonce, TAG);
    const sealed = sealer.update(packet);
    sealer.final();
    this.#send(Buffer.concat([header, sealed, sealer.getAuthTag()]));
  }

  #newIndex(): number {
    this.#generation = (this.#generation + 1) % 2 ** (32 - NUMBER_BITS);
    return this.#generation * 2 ** NUMBER_BITS + this.#number;
  }
}

const TAG = { authTagLength: 16 } as const;
const KEEPALIVE = new Uint8Array(0);

/** All clients of this process. */
class Clients {
  readonly #all: Client[] = [];
  #reported = -1;

  async begin({
    clients,
    serverPublicKey,
    port,
    gatewayIpv4,
  }: Extract<ToClients, { type: 'begin' }>): Promise<void> {
    const server = { publicKey: Buffer.from(serverPublicKey, 'base64'), ipv4: gatewayIpv4 };
    for (let first = 0; first < clients.length; first += CLIENTS_PER_SOCKET) {
      const socket = createSocket('udp4');
      socket.bind(0, '127.0.0.1');
      await once(socket, 'listening');
      const send = (bytes: Uint8Array): void => socket.send(bytes, port, '127.0.0.1', ignore);
      const own = clients
        .slice(first, first + CLIENTS_PER_SOCKET)
        .map((config, i) => new Client(first + i, config, server, send));
      this.#all.push(...own);
      this.#listen(socket, own);
    }
    setInterval(() => this.#tell(), 100);
    tell({ type: 'ready' });
  }

  #listen(socket: Socket, own: readonly Client[]): void {
    socket.on('error', ignore);
    socket.on('message', (message) => {
      const view = viewOf(message);
      const type = messageType(view, 0, message.length);
      if (type === HANDSHAKE_INITIATION) {
        own
          .find(({ checker }) => checker.hasValidMac1(message, initiation.mac1))
          ?.takeInitiation(message);
        return;
      }
      const at = type === HANDSHAKE_RESPONSE ? response.receiver : 4;
      const client = this.#all[view.getUint32(at, true) % 2 ** NUMBER_BITS];
      if (type === HANDSHAKE_RESPONSE) client?.takeResponse(message);
      if (type === COOKIE_REPLY) client?.maker.consumeReply(message, performance.now());
      if (type === TRANSPORT_DATA) client?.takeData(message);
    });
  }

  async connect(window: number): Promise<void> {
    const began = performance.now();
    let next = 0;
    const one = async (): Promise<void> => {
      for (let client = this.#all[next++]; client !== undefined; client = this.#all[next++]) {
        while (!client.isServed) {
          client.initiate();
          for (let i = 0; i < RETRY_MS && !client.isServed; i++) await sleep(1);
        }
      }
    };
    await Promise.all(Array.from({ length: window }, one));
    tell({ type: 'connected', seconds: (performance.now() - began) / 1_000 });
  }

  forget(): void {
    for (const client of this.#all) client.isServed = false;
    this.#reported = -1;
  }

  #tell(): void {
    const count = this.#all.reduce((sum, client) => sum + Number(client.isServed), 0);
    if (count === this.#reported) return;
    this.#reported = count;
    tell({ type: 'served', count, at: Date.now() });
  }

  prepare(): void {
    for (const client of this.#all) client.prepared.make();
    tell({ type: 'prepared' });
  }

  async rekey(perSecond: number, seconds: number, pings: boolean): Promise<void> {
    for (const client of this.#all) client.confirmsWithPing = pings;
    const began = performance.now();
    const total = perSecond * seconds;
    for (let i = 0; i < total; i++) {
      this.#all[i % this.#all.length]?.initiate();
      const due = began + ((i + 1) * 1_000) / perSecond - performance.now();
      if (due > 1) await sleep(due);
    }
    tell({ type: 'rekeyed', count: total });
  }

  async probe(everyMs: number, seconds: number): Promise<void> {
    const client = this.#all[0];
    if (client === undefined) return;
    const sentAt: number[] = [];
    const took: number[] = [];
    client.onAnswer = (sequence) => {
      const at = sentAt[sequence];
      if (at !== undefined) took[sequence] = performance.now() - at;
    };
    const began = performance.now();
    while (performance.now() - began < seconds * 1_000) {
      sentAt.push(performance.now());
      client.sendPing(sentAt.length - 1);
      await sleep(everyMs);
    }
    await sleep(200);
    const times = took.filter((time) => time !== undefined).sort((a, b) => a - b);
    tell({
      type: 'probed',
      sent: sentAt.length,
      lost: sentAt.length - times.length,
      medianMs: times[times.length >> 1] ?? 0,
      p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
      maxMs: times.at(-1) ?? 0,
    });
  }
}

function ignore(): void {
  // Lost packets are sent again, or count as lost.
}

function tell(message: FromClients): void {
  process.send?.(message);
}

/** Fresh keys. */
export function makeClientKeys(): Pick<ClientConfig, 'privateKey' | 'publicKey'> {
  const privateKey = randomBytes(32);
  const publicKey = Buffer.alloc(32);
  primitives.publicKey(publicKey, privateKey);
  return { privateKey: privateKey.toString('base64'), publicKey: publicKey.toString('base64') };
}

if (import.meta.main) {
  const clients = new Clients();
  process.on('message', (message: ToClients) => {
    if (message.type === 'begin') void clients.begin(message);
    if (message.type === 'connect') void clients.connect(message.window);
    if (message.type === 'prepare') clients.prepare();
    if (message.type === 'forget') clients.forget();
    if (message.type === 'rekey')
      void clients.rekey(message.perSecond, message.seconds, message.pings);
    if (message.type === 'probe') void clients.probe(message.everyMs, message.seconds);
  });
}
