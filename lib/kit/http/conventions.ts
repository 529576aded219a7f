// Every request gets these, whatever it asks for: an id, a path that may be spelled in several
// ways, and answers that nobody keeps. docs/api.md#conventions.

import { randomUUID } from 'node:crypto';
import type { Plugin, Request } from '@hapi/hapi';

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Names the request in the log and in `x-request-id`. */
    id: string;
  }
}

/**
 * Gives each request its id, takes the path of EXTERNAL_URL off, reads unusual spellings of paths,
 * forbids caches to keep answers.
 */
export const conventions: Plugin<{ readonly prefix: string }> = {
  name: 'conventions',
  register(server, { prefix }) {
    const outside = normalized(prefix);
    server.ext('onRequest', (request, h) => {
      request.app.id = randomUUID();
      // Set on the raw response, so that every answer has it, whatever code answers.
      request.raw.res.setHeader('x-request-id', request.app.id);
      forgetStrangeHost(request);
      repairPath(request, outside);
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
 * hapi reads an address together with the host that was sent. One that is none would make the
 * address unreadable, or another one than the gate saw; without a host, hapi takes its own.
 */
function forgetStrangeHost({ info }: Request): void {
  if (/^[^/\\?#@]+$/.test(info.host) && URL.canParse(`http://${info.host}`)) return;
  info.host = '';
  info.hostname = '';
}

/**
 * Removes the path of EXTERNAL_URL, which not every proxy does. E-mails are ids, percent-encoded or
 * not: bytes beyond ASCII that came unencoded, and percent signs that encode nothing, are encoded
 * here, so that the router decodes them.
 */
function repairPath(request: Request, prefix: string): void {
  const inside = withoutPrefix(request.path, prefix);
  const encoded = inside
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  // What begins otherwise could not be read at all, and has no route.
  if (encoded === request.path || !encoded.startsWith('/')) return;
  request.setUrl(encoded + queryOf(request), true);
}

/** A path without a prefix. The prefix stays if the path spells it in another way. */
export function withoutPrefix(path: string, prefix: string): string {
  if (prefix === '' || (path !== prefix && !path.startsWith(`${prefix}/`))) return path;
  return path.slice(prefix.length) || '/';
}

function queryOf({ raw }: Request): string {
  const [, query = ''] = /(\?.*)$/s.exec(raw.req.url ?? '') ?? [];
  return query;
}

/**
 * A path as the router compares it: signs that need no percent have none, hex digits are capital.
 */
function normalized(path: string): string {
  return path.replaceAll(/%[0-9a-f]{2}/gi, (encoded) => {
    const sign = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[\w.~!$&'()*+,;=:@-]/.test(sign) ? sign : encoded.toUpperCase();
  });
}
