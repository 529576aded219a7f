// The headers of every page: they say what a page may load and where its forms may go, and forbid
// to frame it or to keep it. No page has a script or a style inside.

import type { Request, ResponseObject, Server } from '@hapi/hapi';
import type { Config } from '../../../config/index.ts';

/** Paths that do not belong to the console. */
const OTHERS = /^\/(v0|local|docs|healthz|readyz|metrics)(\/|$)/;

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** True for what the console answers, unknown paths included. */
export function isWeb({ path }: Pick<Request, 'path'>): boolean {
  return !OTHERS.test(path);
}

/** Sets the headers of all pages and their files. */
export function guardPages(server: Server, { externalUrl }: Pick<Config, 'externalUrl'>): void {
  const isEncrypted = externalUrl.startsWith('https:');
  server.ext('onPreResponse', (request, h) => {
    const { response } = request;
    if (response instanceof Error || !isWeb(request)) return h.continue;
    response.header('x-content-type-options', 'nosniff');
    response.header('cross-origin-resource-policy', 'same-origin');
    if (request.path.startsWith('/assets/')) return h.continue;
    setPageHeaders(request, response);
    // Browsers accept it only from hosts that they trust, and warn about it elsewhere.
    if (isEncrypted || LOOPBACK.test(request.info.hostname))
      response.header('cross-origin-opener-policy', 'same-origin');
    return h.continue;
  });
}

function setPageHeaders({ app }: Request, response: ResponseObject): void {
  const { images, forms } = app.allowedSources ?? {};
  const policy = [
    "default-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data: ${images ?? ''}`.trim(),
    "object-src 'none'",
    "base-uri 'none'",
    `form-action 'self' ${forms ?? ''}`.trim(),
    "frame-ancestors 'none'",
  ];
  response.header('content-security-policy', policy.join('; '));
  response.header('x-frame-options', 'DENY');
  // Not `no-referrer`: browsers would then send forms with `Origin: null`.
  response.header('referrer-policy', 'same-origin');
  response.header('permissions-policy', 'camera=(), geolocation=(), microphone=()');
  // Pages hold data of one user. A handler may have allowed to keep what is the same for everybody.
  if (response.headers['cache-control'] === undefined) response.header('cache-control', 'no-store');
}
