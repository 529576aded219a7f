// Requests over a real connection, each over one of its own, byte by byte as a test spells them.

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type Answer, answerOf, requestOf, type Sent } from './requests.ts';

/** Sends one request to a server that listens. */
export async function sendOverSocket(
  { host, port }: { host: string; port: number },
  method: string,
  path: string,
  sent: Sent,
): Promise<Answer> {
  const { headers, payload } = requestOf(sent);
  const outgoing = request({
    host,
    port,
    method,
    // Characters beyond ASCII are bytes here, as they are to `server.inject`.
    path,
    headers: {
      ...headers,
      ...(payload === null ? {} : { 'content-length': String(Buffer.byteLength(payload)) }),
    },
    agent: false,
  });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.end(payload ?? undefined);
  const [response] = await answered;
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return answerOf(response.statusCode ?? 0, response.headers as Answer['headers'], text);
}
