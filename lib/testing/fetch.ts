// HTTP of a device: an agent for `http.request`, and `fetch`. The global `fetch` takes no agent.

import { Agent, type ClientRequestArgs, request } from 'node:http';
import type { Duplex } from 'node:stream';

/** Opens a TCP connection of the device. */
export type OpenStream = (address: string, port: number) => Duplex;

const HTTP_PORT = 80;
/** Answers with these have no body (RFC 9110, 6.4.1). */
const BODILESS: readonly number[] = [204, 205, 304];

/** An agent whose connections are those of a device; names are not looked up. */
export class DeviceAgent extends Agent {
  readonly #open: OpenStream;

  constructor(open: OpenStream) {
    super();
    this.#open = open;
  }

  override createConnection({ host, port }: ClientRequestArgs): Duplex {
    return this.#open(host ?? '', Number(port ?? HTTP_PORT));
  }
}

/** Sends a request of a device: `http` to an address, as the global `fetch` does. */
export async function fetchBy(
  open: OpenStream,
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const asked = new Request(input, init);
  const url = new URL(asked.url);
  if (url.protocol !== 'http:')
    throw new TypeError(`fetch of a device takes http, not ${url.protocol}`);
  const body = Buffer.from(await asked.arrayBuffer());
  const agent = new DeviceAgent(open);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? HTTP_PORT : Number(url.port),
        path: `${url.pathname}${url.search}`,
        method: asked.method,
        headers: { ...Object.fromEntries(asked.headers), host: url.host, connection: 'close' },
        signal: asked.signal,
      },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('error', reject);
        answer.on('end', () => {
          const status = answer.statusCode ?? 0;
          const headers = new Headers();
          for (const [name, values = []] of Object.entries(answer.headersDistinct))
            for (const value of values) headers.append(name, value);
          const content = BODILESS.includes(status) ? null : Buffer.concat(parts);
          resolve(
            new Response(content, { status, statusText: answer.statusMessage ?? '', headers }),
          );
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
