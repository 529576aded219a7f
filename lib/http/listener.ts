// The HTTP listener and what one client may cost it: size of headers, time for headers, body and
// silence, number of connections. What ends here never becomes a request, so it is answered here,
// in the form of errors.ts, and counted.

import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Counters } from '../process/counters.ts';
import { BODY_PACE, type BodyPace, paceBodies } from './body-pace.ts';
import { addressScope } from './client-address.ts';
import { createServer, ServerResponse, STATUS_CODES } from './node-http.ts';
import { type Certificate, CIPHERS } from './tls.ts';

/** Limits of one listener. */
export interface HttpLimits {
  /** Of the request line and all headers. */
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
  /** How often the times are looked at. */
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
  checkEveryMs: 1_000,
};

/** Reasons by the codes of Node's parser and timers; the status comes with them. */
const REFUSALS: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout'],
};
const MALFORMED = [400, 'malformed_request'] as const;

/**
 * Makes a listener, of HTTPS where a certificate is given; `isProxy` tells the addresses that stand
 * for many clients.
 */
export function createListener(
  limits: HttpLimits,
  counters: Counters,
  isProxy: (address: string) => boolean,
  tls: Pick<Certificate, 'cert' | 'key'> | null = null,
): Server {
  const options = {
    ServerResponse: NamedResponse,
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkEveryMs,
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
  listener.maxConnections = limits.connectionsMax;
  listener.setTimeout(limits.silenceMs);
  listener.on('drop', () => counters.add('connections_refused', 'too_many'));
  limitAddresses(listener, limits, counters, isProxy);
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
    // Who does not speak TLS would not understand an answer.
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

/** Carries an id from its beginning: some requests are answered by Node, and nobody is asked. */
class NamedResponse extends ServerResponse {
  // All of them: Node passes more than its types say.
  constructor(...settings: ConstructorParameters<typeof ServerResponse>) {
    super(...settings);
    this.setHeader('x-request-id', randomUUID());
  }
}

function limitAddresses(
  listener: Server,
  { connectionsPerAddressMax }: HttpLimits,
  counters: Counters,
  isProxy: (address: string) => boolean,
): void {
  const counts = new Map<string, number>();
  listener.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (isProxy(address)) return;
    const scope = addressScope(address);
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
  const body = JSON.stringify({ error: reason });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    'cache-control: no-store',
    `x-request-id: ${randomUUID()}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
