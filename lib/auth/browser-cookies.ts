// The cookies of the web interface. `session` names a signed-in browser; `visitor` binds the forms
// of one that is not signed in; `flash` carries a message to the next page. Where EXTERNAL_URL is
// https, names begin with `__Host-`: no other host and no plain connection can set them.

import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Request, ResponseToolkit, Server, ServerStateCookieOptions } from '@hapi/hapi';
import type { Config } from '../../config/index.ts';

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** What a cookie is for. */
export type CookieName = 'session' | 'visitor' | 'flash';

/** A secret for a cookie: 32 random bytes, base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The hash under which a session's secret is kept. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** The token that forms of a browser with this secret carry; nobody else can make it. */
export function formToken(secret: string): string {
  return createHmac('sha256', secret).update('postern form').digest('base64url');
}

/**
 * What a cookie holds; two of one name hold nothing, since nobody knows whose they are. Read from
 * the header, so that pages of routes that are not ours, unknown ones say, know the session too.
 */
export function readCookie({ headers }: Pick<Request, 'headers'>, name: string): string | null {
  const header: unknown = headers['cookie'];
  if (typeof header !== 'string') return null;
  const begin = `${name}=`;
  const found = header
    .split(';')
    .map((one) => one.trim())
    .filter((one) => one.startsWith(begin));
  return found.length === 1 ? (found[0]?.slice(begin.length) ?? null) : null;
}

/** True for text of the form of `newSecret`. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Reads and sets cookies, by the names that this gateway gives them. */
export class BrowserCookies {
  readonly isSecure: boolean;

  constructor({ externalUrl }: Pick<Config, 'externalUrl'>) {
    this.isSecure = externalUrl.startsWith('https:');
  }

  /** Makes the cookies known to the server, which writes their attributes. */
  register(server: Server): void {
    const options: ServerStateCookieOptions = {
      isSecure: this.isSecure,
      isHttpOnly: true,
      // Strict would leave the session out when an identity provider sends the browser back.
      isSameSite: 'Lax',
      path: '/',
      encoding: 'none',
      ttl: null,
      ignoreErrors: true,
    };
    for (const name of ['session', 'visitor', 'flash'] as const)
      server.state(this.nameOf(name), options);
  }

  /** The secret in a cookie; null where there is none of its form. */
  secretOf(request: Request, name: 'session' | 'visitor'): string | null {
    const value = this.read(request, name);
    return value !== null && isSecret(value) ? value : null;
  }

  /** What a cookie holds; see `readCookie`. */
  read(request: Pick<Request, 'headers'>, name: CookieName): string | null {
    return readCookie(request, this.nameOf(name));
  }

  set(h: ResponseToolkit, name: CookieName, value: string): void {
    h.state(this.nameOf(name), value);
  }

  clear(h: ResponseToolkit, name: CookieName): void {
    h.unstate(this.nameOf(name));
  }

  nameOf(name: CookieName): string {
    return `${this.isSecure ? '__Host-' : ''}postern-${name}`;
  }
}
