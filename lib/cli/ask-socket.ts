// Sends a request of a command to the gateway that runs on this host, at the socket in DATA_DIR.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from '../kit/http/node-http.ts';

/** What is asked. */
export interface Question {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object | undefined;
}

/** The answer while it arrives. Rejects where the connection fails, or when `signal` says so. */
export async function askSocket(
  socketPath: string,
  { method, path, body }: Question,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const headers = { host: 'localhost', 'content-type': 'application/json' };
  const asked = request({ socketPath, method, path, headers, ...(signal && { signal }) });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return response;
}
