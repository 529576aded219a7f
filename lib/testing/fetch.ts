// HTTP of a device: an agent for `http.request`, and `fetch`. The global `fetch` takes no agent.

import {
  Agent,
  type AgentOptions,
  type ClientRequest,
  type ClientRequestArgs,
  request,
} from 'node:http';
import type { Duplex } from 'node:stream';

/** Opens a TCP connection of the device. */
export type OpenStream = (address: string, port: number) => Duplex;

const HTTP_PORT = 80;
/** Answers with these have no body (RFC 9110, 6.4.1). */
const BODILESS: readonly number[] = [204, 205, 304];

/** Methods that may be sent again where nobody has answered (RFC 9110, 9.2.2). */
const REPEATABLE: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'];
/** Errors of a connection that the other side has ended. */
const ENDED: readonly string[] = ['ECONNRESET', 'EPIPE'];
/** Connections to one host that wait for a request, and how long: as long as undici lets them. */
const IDLE_PER_HOST = 8;
const IDLE_MS = 4_000;

/** An agent whose connections are those of a device; names are not looked up. */
export class DeviceAgent extends Agent {
  readonly #open: OpenStream;

  constructor(open: OpenStream, options: AgentOptions = {}) {
    super(options);
    this.#open = open;
  }

  override createConnection({ host, port }: ClientRequestArgs): Duplex {
    return this.#open(host ?? '', Number(port ?? HTTP_PORT));
  }
}

/** An agent whose connections serve one request after the other, as those of `fetch` do. */
export class KeptConnections extends DeviceAgent {
  /** Connections that wait for a request, and how each stops to wait. */
  readonly #idle = new WeakMap<Duplex, () => void>();

  constructor(open: OpenStream) {
    super(open, { keepAlive: true, maxFreeSockets: IDLE_PER_HOST });
  }

  override keepSocketAlive(stream: Duplex): boolean {
    const destroy = (): void => void stream.destroy();
    const timer = setTimeout(destroy, IDLE_MS).unref();
    this.#idle.set(stream, () => {
      clearTimeout(timer);
      stream.off('end', destroy);
    });
    // A host that ends its side takes no further request.
    stream.once('end', destroy).resume();
    return !stream.readableEnded;
  }

  override reuseSocket(stream: Duplex, asked: ClientRequest): void {
    super.reuseSocket(stream, asked);
    this.#idle.get(stream)?.();
  }
}

/** What a request is sent by: connections that may be used again, and new ones. */
export interface Agents {
  readonly kept: Agent;
  readonly fresh: () => Agent;
}

/** Sends a request of a device: `http` to an address, as the global `fetch` does. */
export async function fetchBy(
  { kept, fresh }: Agents,
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const sent = await readAsked(input, init);
  const { url, method } = sent;
  if (url.protocol !== 'http:')
    throw new TypeError(`fetch of a device takes http, not ${url.protocol}`);
  if (!REPEATABLE.includes(method)) return exchange(fresh(), sent);
  try {
    return await exchange(kept, sent);
  } catch (error) {
    if (!(error instanceof LateConnection)) throw error;
    return exchange(fresh(), sent);
  }
}

/** What is asked for. A `Request` takes a tenth of the whole, so most requests have none. */
async function readAsked(input: string | URL | Request, init?: RequestInit): Promise<Sent> {
  const isPlain = init === undefined && !(input instanceof Request);
  const url = isPlain ? new URL(input) : null;
  // A `Request` refuses names and passwords.
  if (url !== null && url.username === '' && url.password === '')
    return { url, method: 'GET', headers: {}, body: null, signal: null };
  const asked = new Request(input, init);
  return {
    url: new URL(asked.url),
    method: asked.method,
    headers: Object.fromEntries(asked.headers),
    body: asked.body === null ? null : Buffer.from(await asked.arrayBuffer()),
    signal: input instanceof Request || (init?.signal ?? null) !== null ? asked.signal : null,
  };
}

interface Sent {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** Null: nobody may abort it. To listen for that costs as much as to send it. */
  readonly signal: AbortSignal | null;
}

/** A connection that had served another request has ended before it could serve this one. */
class LateConnection extends Error {}

function exchange(agent: Agent, sent: Sent): Promise<Response> {
  const { url, method, headers, body, signal } = sent;
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        agent,
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? HTTP_PORT : Number(url.port),
        path: `${url.pathname}${url.search}`,
        method,
        headers: { ...headers, host: url.host },
        ...(signal === null ? {} : { signal }),
      },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('error', reject);
        answer.on('end', () => {
          const status = answer.statusCode ?? 0;
          const content = BODILESS.includes(status) ? null : Buffer.concat(parts);
          const statusText = answer.statusMessage ?? '';
          const response = new Response(content, { status, statusText });
          for (const [name, values = []] of Object.entries(answer.headersDistinct))
            for (const value of values) response.headers.append(name, value);
          resolve(response);
        });
      },
    );
    asked.on('error', (error: NodeJS.ErrnoException) => {
      const isLate = asked.reusedSocket && ENDED.includes(error.code ?? '');
      reject(isLate ? new LateConnection() : error);
    });
    asked.end(body ?? undefined);
  });
}
