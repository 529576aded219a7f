// The cookie that binds a sign-in through a provider to the browser that began it, so that nobody
// signs another person in as somebody else. A provider's answer may be a form that another site
// posts: with https the browser sends the cookie with it too (SameSite=None needs Secure); without
// https, the cookie comes with the page that ends the sign-in.

import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import { hashSecret, isSecret, newSecret, readCookie } from '../browser-cookies.ts';

/** How long a sign-in may take. */
export const SIGN_IN_MS = 10 * 60_000;

/** Reads and sets the cookie. */
export class BrowserBinding {
  /** Whether the cookie comes with forms that other sites post. */
  readonly isCrossSite: boolean;
  readonly #name: string;

  constructor(externalUrl: string) {
    this.isCrossSite = externalUrl.startsWith('https:');
    this.#name = `${this.isCrossSite ? '__Host-' : ''}postern-sign-in`;
  }

  /** Makes the cookie known to the server, which writes its attributes. */
  register(server: Server): void {
    server.state(this.#name, {
      isSecure: this.isCrossSite,
      isHttpOnly: true,
      isSameSite: this.isCrossSite ? 'None' : 'Lax',
      path: '/',
      encoding: 'none',
      ttl: SIGN_IN_MS,
      ignoreErrors: true,
    });
  }

  /** Gives the browser its cookie, the one that it has where it has one: tabs share it. */
  begin(request: Request, h: ResponseToolkit): string {
    const secret = this.#secretOf(request) ?? newSecret();
    h.state(this.#name, secret);
    return hashSecret(secret);
  }

  /** The hash of the browser's cookie; null without one. */
  of(request: Request): string | null {
    const secret = this.#secretOf(request);
    return secret === null ? null : hashSecret(secret);
  }

  #secretOf(request: Request): string | null {
    const value = readCookie(request, this.#name);
    return value !== null && isSecret(value) ? value : null;
  }
}
