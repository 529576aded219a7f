// Forms: how they are read, and the check that a page of this gateway sent them. Every request that
// may change something (not GET or HEAD) must carry a token that only the pages of this browser
// have, and must come from this site. This is checked before any handler runs, also at sign-in.
// Only routes that say so are exempt, such as the one for an identity provider's answer, which has
// a proof of its own.

import { timingSafeEqual } from 'node:crypto';
import type { Request, RouteOptions, Server } from '@hapi/hapi';
import { ApiError } from '../../kit/http/errors.ts';
import type { Errors } from '../../kit/validation/validate.ts';
import { isWeb } from './headers.ts';
import { PageError } from '../../kit/http/page-error.ts';
import type { Web } from './web.ts';

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    web?: {
      /** False for a route whose requests prove in another way where they come from. */
      formToken?: false;
    };
  }
}

/** Largest body of a form, unless its route sets another size. */
const FORM_BYTES_MAX = 65_536;
/** Largest body of a form with a long list; the limit of the API. */
const LONG_FORM_BYTES_MAX = 1_048_576;

/** Field and header that carry the token. */
export const TOKEN_FIELD = 'csrf_token';
const TOKEN_HEADER = 'x-csrf-token';

/** The errors that programs read, because they see no page. */
const FROM_ELSEWHERE: Errors = { origin: [{ code: 'otherOrigin' }] };
const WITHOUT_TOKEN: Errors = {
  [TOKEN_FIELD]: [{ code: 'noFormToken', values: { header: TOKEN_HEADER } }],
};

/** How the body of a form is read: only text fields, up to a size. */
export const takesForm: NonNullable<RouteOptions['payload']> = {
  allow: ['application/x-www-form-urlencoded', 'application/json'],
  maxBytes: FORM_BYTES_MAX,
  multipart: false,
};

/**
 * How a form is read that takes a long list: a thousand e-mails of 255 characters, or 500 people
 * with 2 KB each. Only for `adminPage`, which reads no body of anybody else.
 */
export const takesLongForm: NonNullable<RouteOptions['payload']> = {
  ...takesForm,
  maxBytes: LONG_FORM_BYTES_MAX,
};

/** Refuses forms that are not this gateway's own. */
export function validateForms(server: Server, { pages, services }: Web): void {
  const own = new URL(services.config.externalUrl).origin;
  server.ext('onPostAuth', (request, h) => {
    if (!isWeb(request) || ['get', 'head', 'options'].includes(request.method)) return h.continue;
    if ((request.route.method as string) === '_special') return h.continue;
    if (request.route.settings.plugins?.web?.formToken === false) return h.continue;
    if (!isFromHere(request, own))
      throw new ApiError('stale_form', { detail: 'from elsewhere', errors: FROM_ELSEWHERE });
    const [token, expected] = [tokenOf(request), pages.formTokens(request)];
    if (expected.length === 0) throw withoutCookie(services.config.externalUrl);
    if (!expected.some((one) => isSame(token, one)))
      throw new ApiError('stale_form', { detail: 'without a good token', errors: WITHOUT_TOKEN });
    return h.continue;
  });
}

/** The text of a field; empty where it was not sent, or was sent twice. */
export function textOf({ payload }: Pick<Request, 'payload'>, name: string): string {
  const value = valueOf(payload, name);
  return typeof value === 'string' ? value : '';
}

/** The texts of a field that may be sent several times, such as boxes to tick. */
export function textsOf({ payload }: Pick<Request, 'payload'>, name: string): string[] {
  const value = valueOf(payload, name);
  return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
}

function valueOf(payload: unknown, name: string): unknown {
  if (typeof payload !== 'object' || payload === null || !Object.hasOwn(payload, name))
    return undefined;
  return (payload as Record<string, unknown>)[name];
}

/** If EXTERNAL_URL is https, browsers keep our cookies only at that address. */
function withoutCookie(externalUrl: string): PageError {
  return new PageError('stale_form', {
    title: 'Your browser sent no cookie',
    text: `Forms need cookies, and work at this gateway's own address: ${externalUrl}`,
  });
}

function tokenOf(request: Request): string {
  const header: unknown = request.headers[TOKEN_HEADER];
  return typeof header === 'string' ? header : textOf(request, TOKEN_FIELD);
}

/** Whether the browser says that another site, or a neighbour of this one, made the request. */
export function isFromAfar({ headers }: Pick<Request, 'headers'>): boolean {
  const site: unknown = headers['sec-fetch-site'];
  return typeof site === 'string' && site !== 'same-origin' && site !== 'none';
}

/**
 * Whether the browser says that the request comes from this site. Older browsers say nothing; then
 * the token alone decides.
 */
function isFromHere(request: Request, own: string): boolean {
  if (isFromAfar(request)) return false;
  const { headers } = request;
  const origin: unknown = headers['origin'];
  if (typeof origin !== 'string') return true;
  // This host may have several names; the page must come from the name that was asked for.
  return origin === own || (URL.canParse(origin) && new URL(origin).host === headers['host']);
}

function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
