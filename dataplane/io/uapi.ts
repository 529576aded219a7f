// WireGuard's configuration protocol (https://www.wireguard.com/xplatform/, "Configuration
// Protocol"): a Unix socket on which `wg show` asks for the interface and its peers. It only
// reports. The database decides which peers there are, so `set` is refused.

import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { PeerTotals } from '../totals.ts';
import { formatAddress, formatEndpoint } from '../wire/address.ts';
import { formatNetwork } from '../wire/network.ts';

/** What is reported of an interface. */
export interface UapiDevice {
  readonly privateKey: Uint8Array;
  readonly listenPort: number;
  readonly peers: Iterable<PeerTotals>;
}

/** Brings what is reported up to date; it never rejects. */
export type Refresh = () => Promise<void>;

/** An open socket. */
export interface Uapi {
  close(): Promise<void>;
}

const FOLDER = '/var/run/wireguard';
const REQUEST_BYTES_MAX = 65_536;
const IDLE_MS = 5_000;
const CONNECTIONS_MAX = 16;

/** Error numbers of POSIX, negative as wireguard-go sends them: `wg` takes the sign off again. */
const EPERM = -1;
const EPROTO = -71;

/**
 * Opens the socket of an interface, for its owner alone. Replaces a socket on which no process
 * listens any more. Throws when another process listens there, or when the folder cannot be
 * written.
 */
export async function openUapi(
  interfaceName: string,
  device: () => UapiDevice,
  folder = FOLDER,
  refresh: Refresh = () => Promise.resolve(),
): Promise<Uapi> {
  const path = join(folder, `${interfaceName}.sock`);
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  if (await isAlive(path)) throw new Error(`another process answers at ${path}`);
  const sockets = new Set<Socket>();
  // A client may end its own side after its request and still gets the answer.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    serve(socket, device, refresh).then(
      () => socket.destroySoon(),
      () => socket.destroy(),
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  await listen(server, path);
  // An open socket does not keep the process alive.
  server.unref();
  return {
    close: async () => {
      for (const socket of sockets) socket.destroy();
      rmSync(path, { force: true });
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Whether a process listens at a path; a socket without one is removed. */
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

/**
 * Binds in a private folder and moves the socket to its path, so that nobody else can use it before
 * its rights are set.
 */
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

/** Answers until the other side ends, sends too much, or sends nothing for too long. */
async function serve(socket: Socket, device: () => UapiDevice, refresh: Refresh): Promise<void> {
  const requests = new Requests(device);
  socket.setEncoding('utf8');
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  for await (const chunk of socket as AsyncIterable<string>) {
    if (!requests.take(chunk)) break;
    // One answer at a time; the next one when the other side has taken it. Thousands of operations
    // may come at once, and an answer about thousands of peers has megabytes.
    while (requests.isAsked) {
      await refresh();
      await write(socket, requests.answer() ?? '');
      await turn();
    }
  }
}

function write(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve, reject) =>
    socket.write(text, (error) => (error ? reject(error) : resolve())),
  );
}

/**
 * What one side has sent and what was not answered yet: operations, each ended by an empty line.
 */
export class Requests {
  readonly #device: () => UapiDevice;
  #text = '';

  constructor(device: () => UapiDevice) {
    this.#device = device;
  }

  /** Takes a piece of text; false when it is too long. */
  take(chunk: string): boolean {
    this.#text += chunk;
    return this.#text.length <= REQUEST_BYTES_MAX;
  }

  /** Whether an operation is complete that was not answered. */
  get isAsked(): boolean {
    return this.#text.includes('\n\n');
  }

  /** The answer to the first complete operation that was not answered, or null. */
  answer(): string | null {
    const end = this.#text.indexOf('\n\n');
    if (end < 0) return null;
    const operation = this.#text.slice(0, end);
    this.#text = this.#text.slice(end + 2);
    return answerTo(operation, this.#device);
  }
}

/** The answer to one operation, with the empty line that ends it. */
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
  if (endpoint !== null) lines.push(`endpoint=${formatEndpoint(endpoint)}`);
  lines.push(
    `last_handshake_time_sec=${seconds}`,
    `last_handshake_time_nsec=${((latestHandshakeMs ?? 0) - seconds * 1_000) * 1_000_000}`,
    `tx_bytes=${peer.txBytes}`,
    `rx_bytes=${peer.rxBytes}`,
    'persistent_keepalive_interval=0',
  );
  if (config.ipv4 !== null) lines.push(`allowed_ip=${formatAddress(config.ipv4)}/32`);
  if (config.ipv6 !== null) lines.push(`allowed_ip=${formatAddress(config.ipv6)}/128`);
  for (const range of config.routes ?? []) lines.push(`allowed_ip=${formatNetwork(range)}`);
  return lines;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
