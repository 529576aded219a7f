// A request whose body is late: headers and the first bytes arrive, the rest when the test says so.

import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for a server on this machine to let a request in and to wait for its body. */
const LET_IN_MS = 300;

/** The answer to a late request. */
export interface LateAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly text: string;
}

/** A request that was let in and whose body is not complete. */
export interface LateRequest {
  /** The answer, whenever it comes. */
  readonly answer: Promise<LateAnswer>;
  /** Sends the rest; resolves to the answer. */
  finish(): Promise<LateAnswer>;
}

/** Sends everything but the last part of a body, and waits until the request was let in. */
export async function beginLate(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<LateRequest> {
  const outgoing = request(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    agent: false,
  });
  outgoing.on('error', () => undefined);
  const answer = answerOf(outgoing);
  outgoing.write(body.slice(0, 10));
  await sleep(LET_IN_MS);
  return {
    answer,
    finish() {
      outgoing.end(body.slice(10));
      return answer;
    },
  };
}

async function answerOf(outgoing: ClientRequest): Promise<LateAnswer> {
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
  const { statusCode: status = 0, headers } = response;
  return { status, location: headers.location ?? null, text };
}
