// What browsers are told of every page: what it may load and where its forms may go, that nobody
// may frame or keep it. No script and no style stands in a page itself.

import type { Request, ResponseObject, Server } from '@hapi/hapi';
import type { Web } from './web.ts';

/** Paths that are not the web interface's. */
const OTHERS = /^\/(v0|docs|healthz|readyz|metrics)(\/|$)/;

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** True for what the web interface answers, unknown paths included. */
export function isWeb({ path }: Pick<Request, 'path'>): boolean {
  return !OTHERS.test(path);
}

/** Sets the headers of all pages and their files. */
export function guardPages(server: Server, { services }: Web): void {
  const isEncrypted = services.config.externalUrl.startsWith('https:');
  server.ext('onPreResponse', (request, h) => {
    const { response } = request;
    if (response instanceof Error || !isWeb(request)) return h.continue;
    response.header('x-content-type-options', 'nosniff');
    response.header('cross-origin-resource-policy', 'same-origin');
    if (request.path.startsWith('/assets/')) return h.continue;
    setPageHeaders(request, response);
    // Browsers take it of hosts that they trust alone, and complain at others.
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
  // Pages hold what is the user's own; the file of a favourite icon is everybody's.
  if (response.headers['cache-control'] === undefined) response.header('cache-control', 'no-store');
}
