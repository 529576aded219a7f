// What holds for every request, whatever it asks for: an id, a path that may be spelled in several
// ways, and answers that nobody keeps. docs/api.md#conventions.

import { randomUUID } from 'node:crypto';
import type { Plugin, Request } from '@hapi/hapi';

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Names the request in the log and in `x-request-id`. */
    id: string;
  }
}

/** Gives each request its id, reads unusual spellings of paths, forbids caches to keep answers. */
export const conventions: Plugin<void> = {
  name: 'conventions',
  register(server) {
    server.ext('onRequest', (request, h) => {
      request.app.id = randomUUID();
      // Set on the raw response, so that no answer, however it comes about, is without it.
      request.raw.res.setHeader('x-request-id', request.app.id);
      repairPath(request);
      return h.continue;
    });
    server.ext('onPreResponse', (request, h) => {
      const { response, path } = request;
      if (!(response instanceof Error) && (path === '/v0' || path.startsWith('/v0/')))
        response.header('cache-control', 'no-store');
      return h.continue;
    });
  },
};

/**
 * E-mails are ids, percent-encoded or not: bytes beyond ASCII that came as they are, and percent
 * signs that encode nothing, are encoded here, so that the router decodes them.
 */
function repairPath(request: Request): void {
  const { path } = request;
  if (!/[\x80-\xff]|%(?![0-9a-f]{2})/i.test(path)) return;
  const encoded = path
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  const [, query = ''] = /(\?.*)$/s.exec(request.raw.req.url ?? '') ?? [];
  request.setUrl(encoded + query, true);
}
