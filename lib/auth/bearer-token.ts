// The bearer token that a request shows, in whatever form it comes.

import type { IncomingMessage } from 'node:http';

const BEARER = /^bearer +(.*)$/i;

/** The bearer token that a request shows; null where it shows none. */
export function readToken({
  headers,
}: {
  readonly headers: Readonly<Record<string, unknown>> | IncomingMessage['headers'];
}): string | null {
  const header: unknown = headers['authorization'];
  const [, token = ''] = BEARER.exec(typeof header === 'string' ? header : '') ?? [];
  return token.trim() || null;
}
