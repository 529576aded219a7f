// Requests of tests to the API and their answers, with and without a port.

import type { OutgoingHttpHeaders } from 'node:http';
import type { Server } from '@hapi/hapi';

const JSON_TYPE = 'application/json';

/** What a test sends. */
export interface Sent {
  /** JSON, or text and bytes that go as they are. */
  body?: unknown;
  /** Null sends none. */
  token?: string | null;
  headers?: Record<string, string>;
}

/** What came back; `body` is parsed, null when there was none. */
export interface Answer {
  status: number;
  // Tests reach into bodies without a type for each.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
  headers: OutgoingHttpHeaders;
  text: string;
}

/** The headers and the body of a request. */
export function requestOf(sent: Sent): {
  headers: Record<string, string>;
  payload: string | Buffer | null;
} {
  const { body, token = null, headers = {} } = sent;
  const isRaw = typeof body === 'string' || body instanceof Buffer;
  return {
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || isRaw ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    payload: body === undefined ? null : isRaw ? body : JSON.stringify(body),
  };
}

/** Reads a response. */
export function answerOf(status: number, headers: Answer['headers'], text: string): Answer {
  const isJson = String(headers['content-type'] ?? JSON_TYPE).startsWith(JSON_TYPE);
  return { status, body: text === '' || !isJson ? null : JSON.parse(text), headers, text };
}

/** Sends a request to a server that need not listen. */
export async function injectInto(
  server: Server,
  method: string,
  path: string,
  sent: Sent,
): Promise<Answer> {
  const { headers, payload } = requestOf(sent);
  const response = await server.inject({
    method,
    url: path,
    headers,
    ...(payload === null ? {} : { payload }),
  });
  return answerOf(response.statusCode, response.headers, response.payload);
}
