// The HTTP listener and what one client may cost it: size of headers, time for headers, body and
// silence, number of connections. If the process may have only few files open, it takes fewer
// connections, so that files are left for all else. A connection that ends here never becomes a
// request, so it is answered here, in the form of errors.ts, and counted.

import { randomUUID } from 'node:crypto';
import type { Server, ServerResponse as ServerResponseOf } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { FileLimits } from '../../../dataplane/index.ts';
import type { Counters } from '../process/counters.ts';
import type { Log } from '../process/log.ts';
import { SparseLines } from '../process/sparse-lines.ts';
import { BODY_PACE, type BodyPace, paceBodies } from './body-pace.ts';
import { checkWhileConnected } from './checking.ts';
import type { Peer } from './door.ts';
import { createServer, ServerResponse, STATUS_CODES } from './node-http.ts';
import { type Certificate, CIPHERS } from './tls.ts';

/** Limits of one listener. */
export interface HttpLimits {
  /** Bytes of the request line and all headers. */
  readonly headerBytesMax: number;
  /** Until all headers are there. */
  readonly headersMs: number;
  /** Until the whole request is there, its body included. */
  readonly requestMs: number;
  /** How fast a body must arrive. */
  readonly bodyPace: BodyPace;
  /** How long an idle connection stays open; longer than proxies keep theirs, which is 60 s. */
  readonly keepAliveMs: number;
  /** How long a connection may neither send nor take anything while it is answered. */
  readonly silenceMs: number;
  readonly connectionsMax: number;
  /** From one address; this host and trusted proxies stand for many. */
  readonly connectionsPerAddressMax: number;
  /** How many files this process may have open, where there are fewer connections for that. */
  readonly filesMax: number | null;
  /** How often the times are looked at while there are connections. */
  readonly checkEveryMs: number;
}

/** The limits that serve. */
export const HTTP_LIMITS: HttpLimits = {
  headerBytesMax: 16_384,
  headersMs: 10_000,
  requestMs: 60_000,
  bodyPace: BODY_PACE,
  keepAliveMs: 65_000,
  silenceMs: 120_000,
  connectionsMax: 2_048,
  connectionsPerAddressMax: 256,
  filesMax: null,
  checkEveryMs: 1_000,
};

/** How often the log says that connections are refused. */
const FULL_LINE_MS = 60_000;

/** What lets a process have more files open. */
export const MORE_FILES =
  'Allow more open files: LimitNOFILE=65536 in the systemd unit, --ulimit nofile=65536:65536 for a container, or ulimit -n 65536 before a start by hand.';

/** What must be less where few files may be open: `max` of them, and so many `connections`. */
export function limitsWithin({ max, connections }: FileLimits): Partial<HttpLimits> {
  if (connections >= HTTP_LIMITS.connectionsMax) return {};
  const share = HTTP_LIMITS.connectionsPerAddressMax / HTTP_LIMITS.connectionsMax;
  const connectionsPerAddressMax = Math.ceil(connections * share);
  return { connectionsMax: connections, connectionsPerAddressMax, filesMax: max };
}

/** Reasons by the codes of Node's parser and timers; the status comes with them. */
const REFUSALS: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout'],
};
const MALFORMED = [400, 'malformed_request'] as const;

/** What a listener is made of. */
export interface ListenerOptions {
  readonly limits: HttpLimits;
  readonly counters: Counters;
  readonly log: Log;
  /** Tells the other ends that stand for many clients. */
  readonly isProxy: (peer: Peer) => boolean;
  /** What counts as one address; in tunnel-addresses.ts. */
  readonly scopeOf: (address: string) => string;
  /** Null: HTTP. */
  readonly tls?: Pick<Certificate, 'cert' | 'key'> | null;
}

/** Makes a listener, of HTTPS where a certificate is given. */
export function createListener(made: ListenerOptions): Server {
  const { limits, tls = null } = made;
  const options = {
    ServerResponse: NamedResponse,
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
  };
  const listener =
    tls === null
      ? createServer(options)
      : createTlsServer({
          ...options,
          cert: tls.cert,
          key: tls.key,
          ciphers: CIPHERS,
          handshakeTimeout: limits.headersMs,
        });
  checkWhileConnected(listener, limits.checkEveryMs);
  listener.maxConnections = limits.connectionsMax;
  listener.setTimeout(limits.silenceMs);
  listener.on('drop', whenFull(made));
  limitAddresses(listener, made);
  paceBodies(listener, limits.bodyPace);
  return listener;
}

/**
 * Answers what is no request. Called once the framework, which would answer in words of its own,
 * has put its listeners on.
 */
export function answerClientErrors(listener: Server, counters: Counters): void {
  listener.removeAllListeners('clientError');
  listener.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket & { _httpMessage?: { headersSent?: boolean } };
    // A client that does not speak TLS would not understand an answer.
    if (/^ERR_(SSL|TLS)_/.test(error.code ?? '')) {
      counters.add('connections_refused', 'tls_failed');
      return void socket.destroy();
    }
    // A client that hung up is not refused anything.
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const [status, reason] = REFUSALS[error.code ?? ''] ?? MALFORMED;
    counters.add('requests_refused', reason);
    // An answer that began cannot be followed by another one.
    if (socket._httpMessage?.headersSent === true) socket.destroy();
    else socket.end(answerOf(status, reason), () => socket.destroy());
  });
}

/**
 * Answers requests that expect what no server here does: Node would answer them, before any gate,
 * and nobody would count them.
 */
export function answerExpectations(listener: Server, counters: Counters): void {
  listener.on('checkExpectation', (_request, response: ServerResponseOf) => {
    const body = bodyOf('expectation_failed');
    counters.add('requests_refused', 'expectation_failed');
    response.writeHead(417, headersOf(body)).end(body);
  });
}

/** Carries an id from its beginning: some requests are answered by Node, and nobody is asked. */
class NamedResponse extends ServerResponse {
  // All of them: Node passes more than its types say.
  constructor(...settings: ConstructorParameters<typeof ServerResponse>) {
    super(...settings);
    this.setHeader('x-request-id', randomUUID());
  }
}

/** What is done for each connection beyond the limit, which Node has closed. */
function whenFull({ limits, counters, log }: ListenerOptions): () => void {
  const { connectionsMax, filesMax } = limits;
  if (filesMax === null) return () => counters.add('connections_refused', 'too_many');
  const lines = new SparseLines(FULL_LINE_MS);
  return () => {
    counters.add('connections_refused', 'too_few_files');
    const left = lines.next();
    if (left === null) return;
    log.warn(
      {
        files_max: filesMax,
        connections_max: connectionsMax,
        ...(left === 0 ? {} : { left_out: left }),
        fix: MORE_FILES,
      },
      'connections are refused: this process may have too few files open',
    );
  };
}

function limitAddresses(
  listener: Server,
  { limits: { connectionsPerAddressMax }, counters, isProxy, scopeOf }: ListenerOptions,
): void {
  const counts = new Map<string, number>();
  listener.on('connection', (socket: Socket) => {
    if (isProxy(socket)) return;
    const scope = scopeOf(socket.remoteAddress ?? '');
    const count = counts.get(scope) ?? 0;
    if (count >= connectionsPerAddressMax) {
      counters.add('connections_refused', 'too_many_from_address');
      socket.destroy();
      return;
    }
    counts.set(scope, count + 1);
    socket.once('close', () => {
      const left = (counts.get(scope) ?? 1) - 1;
      if (left === 0) counts.delete(scope);
      else counts.set(scope, left);
    });
  });
}

function answerOf(status: number, reason: string): string {
  const body = bodyOf(reason);
  const headers = { ...headersOf(body), 'x-request-id': randomUUID(), connection: 'close' };
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');
}

function bodyOf(reason: string): string {
  return JSON.stringify({ error: reason });
}

function headersOf(body: string): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'content-length': String(Buffer.byteLength(body)),
  };
}
