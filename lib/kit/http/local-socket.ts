// The socket of the gateway on its own host, by which commands ask the gateway that runs: the API
// without a token. It is a file in DATA_DIR that only the account of the gateway (and root) can
// open; who can do that can read the database and its key anyway.

import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { messageOf } from '../process/message.ts';
import type { Shared } from '../process/shared.ts';
import { openConnections } from './checking.ts';
import { isForwarded } from './client-address.ts';
import { answerClientErrors, createListener, HTTP_LIMITS, type HttpLimits } from './listener.ts';

/** Longer paths of sockets are cut off by the kernel: `sun_path` of unix(7), without its end. */
const SOCKET_PATH_BYTES_MAX = 107;

/** Sockets of requests that came this way. */
const locals = new WeakSet<Socket>();

/**
 * Whether a request came through the socket of this host, from a command. What a proxy passes on is
 * of somebody else, who needs a token as everybody does.
 */
export function isLocal({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): boolean {
  return locals.has(socket) && !isForwarded(headers);
}

/** What the socket needs. */
export interface LocalSocketOptions extends Pick<Shared, 'log' | 'counters'> {
  readonly path: string;
  /** Answers the requests, like its own. */
  readonly server: Server;
  /** Gets what says how many connections there are. */
  readonly counted?: (connections: () => number) => void;
  /** Limits that differ from those of listener.ts. */
  readonly httpLimits?: Partial<HttpLimits>;
}

/**
 * Takes requests at the socket, or logs why it cannot. Returns what closes it: no more are taken at
 * once, and those that are being answered have `drainMs` for it, because a command whose write is
 * not answered does not know whether it was made.
 */
export async function openLocalSocket(
  options: LocalSocketOptions,
): Promise<(drainMs?: number) => Promise<void>> {
  const { path, server, log, counters } = options;
  const limits = { ...HTTP_LIMITS, ...options.httpLimits };
  const listener = createListener({
    limits,
    counters,
    log,
    isProxy: () => true,
    scopeOf: (address) => address,
  });
  options.counted?.(() => openConnections(listener));
  answerClientErrors(listener, counters);
  listener.on('connection', (socket: Socket) => locals.add(socket));
  const answering = new Set<ServerResponse>();
  listener.on('request', (request, response) => {
    answering.add(response);
    response.once('close', () => answering.delete(response));
    server.emit('request', request, response);
  });
  try {
    await listen(listener, path);
  } catch (error) {
    log.warn({ fault: messageOf(error) }, 'commands of this host cannot ask the gateway');
  }
  return async (drainMs = 0) => {
    // Node removes the file.
    listener.close();
    if (answering.size > 0 && drainMs > 0) await answeredWithin(answering, drainMs);
    listener.closeAllConnections();
  };
}

/** Waits until answers have ended, or the time has. */
async function answeredWithin(answers: Iterable<ServerResponse>, limitMs: number): Promise<void> {
  const all = Promise.withResolvers<void>();
  const timer = setTimeout(all.resolve, limitMs);
  const ends = [...answers].map((one) => new Promise<void>((end) => void one.once('close', end)));
  void Promise.all(ends).then(() => all.resolve());
  await all.promise;
  clearTimeout(timer);
}

async function listen(listener: Server, path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > SOCKET_PATH_BYTES_MAX)
    throw new Error(`${path} has ${bytes} bytes; a socket may have ${SOCKET_PATH_BYTES_MAX}`);
  if (await answers(path)) throw new Error(`another gateway listens at ${path}`);
  // A gateway that was killed left its file.
  rmSync(path, { force: true });
  // The file is nobody else's from its first moment.
  const umask = process.umask(0o177);
  try {
    listener.listen(path);
    await once(listener, 'listening');
  } finally {
    process.umask(umask);
  }
}

/** Whether a gateway that runs has the socket; one that was killed left its file alone. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    // A gateway that is halted takes no more connections at some time.
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EAGAIN'));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
