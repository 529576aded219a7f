// WireGuard's configuration protocol (https://www.wireguard.com/xplatform/, "Configuration
// Protocol"): a Unix socket on which `wg show` asks a userspace WireGuard what it is and what its
// peers do. It only tells: what peers there are is the database's business, so `set` is refused.

import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { PeerTotals } from '../totals.ts';
import { type Endpoint, formatAddress } from '../wire/address.ts';

/** What is told of an interface. */
export interface UapiDevice {
  readonly privateKey: Uint8Array;
  readonly listenPort: number;
  readonly peers: Iterable<PeerTotals>;
}

/** An open socket. */
export interface Uapi {
  close(): Promise<void>;
}

const FOLDER = '/var/run/wireguard';
const REQUEST_BYTES_MAX = 65_536;
const IDLE_MS = 5_000;
const CONNECTIONS_MAX = 16;

/** Error numbers of the protocol are those of POSIX. */
const EPERM = 1;
const EPROTO = 71;

/**
 * Opens the socket of an interface for its owner alone. A socket that nobody listens on any more is
 * replaced. Throws when another process listens there, or the folder cannot be written.
 */
export async function openUapi(
  interfaceName: string,
  device: () => UapiDevice,
  folder = FOLDER,
): Promise<Uapi> {
  const path = join(folder, `${interfaceName}.sock`);
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  if (await isAlive(path)) throw new Error(`another process answers at ${path}`);
  const sockets = new Set<Socket>();
  // Who has asked may say that it says no more, and is still answered.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    converse(socket, device).then(
      () => socket.destroySoon(),
      () => socket.destroy(),
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  await listen(server, path);
  // The gateway ends when it is stopped, whoever still listens to it.
  server.unref();
  return {
    close: async () => {
      for (const socket of sockets) socket.destroy();
      rmSync(path, { force: true });
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Whether somebody answers at a path; what nobody answers at is removed. */
async function isAlive(path: string): Promise<boolean> {
  const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const probe = connect(path, () => {
      probe.destroy();
      resolve(null);
    });
    probe.on('error', resolve);
  });
  if (error?.code === 'ECONNREFUSED') unlinkSync(path);
  return error === null;
}

/** Binds in a folder of the owner's, so that the path is nobody else's for no moment. */
async function listen(server: Server, path: string): Promise<void> {
  const draft = mkdtempSync(`${path}.`);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(join(draft, 's'), resolve);
    });
    chmodSync(join(draft, 's'), 0o600);
    renameSync(join(draft, 's'), path);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Answers until the other end is gone, or has said too much or nothing for too long. */
async function converse(socket: Socket, device: () => UapiDevice): Promise<void> {
  const conversation = new Conversation(device);
  socket.setEncoding('utf8');
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  for await (const chunk of socket as AsyncIterable<string>) {
    if (!conversation.hear(chunk)) break;
    // One answer at a time, and the next one only when the other end has taken it: thousands of
    // operations may come at once, and of thousands of peers an answer has megabytes.
    for (let answer = conversation.answer(); answer !== null; answer = conversation.answer()) {
      await write(socket, answer);
      await turn();
    }
  }
}

function write(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve, reject) =>
    socket.write(text, (error) => (error ? reject(error) : resolve())),
  );
}

/** What one end has said and was not answered yet: operations, each ended by an empty line. */
export class Conversation {
  readonly #device: () => UapiDevice;
  #text = '';

  constructor(device: () => UapiDevice) {
    this.#device = device;
  }

  /** Takes a piece of text; false when it is too much. */
  hear(chunk: string): boolean {
    this.#text += chunk;
    return this.#text.length <= REQUEST_BYTES_MAX;
  }

  /** The answer to the first operation that was heard to its end and not answered, or null. */
  answer(): string | null {
    const end = this.#text.indexOf('\n\n');
    if (end < 0) return null;
    const operation = this.#text.slice(0, end);
    this.#text = this.#text.slice(end + 2);
    return answerTo(operation, this.#device);
  }
}

/** The answer to one operation, with its empty line. */
export function answerTo(operation: string, device: () => UapiDevice): string {
  const [first] = operation.split('\n');
  if (first === 'get=1') return `${describe(device())}errno=0\n\n`;
  return `errno=${first === 'set=1' ? EPERM : EPROTO}\n\n`;
}

function describe({ privateKey, listenPort, peers }: UapiDevice): string {
  const lines = [`private_key=${hex(privateKey)}`, `listen_port=${listenPort}`];
  for (const peer of peers) lines.push(...describePeer(peer));
  return `${lines.join('\n')}\n`;
}

function describePeer(peer: PeerTotals): string[] {
  const { config, endpoint, latestHandshakeMs } = peer;
  const seconds = Math.floor((latestHandshakeMs ?? 0) / 1_000);
  const lines = [
    `public_key=${Buffer.from(config.publicKey, 'base64').toString('hex')}`,
    `preshared_key=${hex(config.presharedKey)}`,
    'protocol_version=1',
  ];
  if (endpoint !== null) lines.push(`endpoint=${endpointText(endpoint)}`);
  lines.push(
    `last_handshake_time_sec=${seconds}`,
    `last_handshake_time_nsec=${((latestHandshakeMs ?? 0) - seconds * 1_000) * 1_000_000}`,
    `tx_bytes=${peer.txBytes}`,
    `rx_bytes=${peer.rxBytes}`,
    'persistent_keepalive_interval=0',
  );
  if (config.ipv4 !== null) lines.push(`allowed_ip=${formatAddress(config.ipv4)}/32`);
  if (config.ipv6 !== null) lines.push(`allowed_ip=${formatAddress(config.ipv6)}/128`);
  return lines;
}

function endpointText({ address, port }: Endpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
