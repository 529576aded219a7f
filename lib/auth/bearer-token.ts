// The bearer token that a request shows, in any form, and whether it is the token of a setting.

import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { hashToken } from './tokens.ts';

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

/** Makes a check whether a token is the one of a setting; null: there is none, so no token is. */
export function tokenCheck(wanted: string | null): (token: string | null) => boolean {
  if (wanted === null) return () => false;
  const expected = Buffer.from(hashToken(wanted));
  // Hashes have the same length, which timingSafeEqual needs.
  return (token) => token !== null && timingSafeEqual(Buffer.from(hashToken(token)), expected);
}
