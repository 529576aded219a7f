// Request bodies. Checks the type, and that the body is JSON; operations validate the record in it
// (operations/perform.ts). The bytes are parsed here and not by hapi, which would also accept forms
// and texts. docs/api.md#requests.

import { isUtf8 } from 'node:buffer';
import { PassThrough } from 'node:stream';
import type { Plugin, Request, RouteOptions } from '@hapi/hapi';
import { ApiError } from '../kit/http/errors.ts';
import { messages } from '../kit/validation/messages.ts';

/** The largest body of most operations. */
export const BODY_BYTES_MAX = 1_048_576;

const JSON_TYPE = /^application\/([a-z0-9!#$&^_.-]+\+)?json$/i;

/**
 * Refuses bodies of an undeclared length with an answer if they are too large. hapi destroys a
 * stream that is too long; if that is the request itself, its connection is destroyed too. So these
 * bodies are read through a stream in between, like compressed ones.
 */
export const undeclaredLengths: Plugin<void> = {
  name: 'undeclared-lengths',
  register(server) {
    server.decoder('identity', () => new PassThrough());
    server.ext('onRequest', ({ headers }, h) => {
      if (headers['transfer-encoding'] !== undefined) headers['content-encoding'] ??= 'identity';
      return h.continue;
    });
  },
};

/** Route options for operations that ignore their body. */
export const ignoresBody: RouteOptions = { payload: bytesOnly(BODY_BYTES_MAX) };

/** Makes hapi treat every body as bytes, because the type is checked here. */
function bytesOnly(maxBytes: number): NonNullable<RouteOptions['payload']> {
  return { parse: false, output: 'data', override: 'application/octet-stream', maxBytes };
}

/** Route options for operations whose body is JSON, which `readJson` reads. */
export function takesJson(maxBytes = BODY_BYTES_MAX): RouteOptions {
  return { payload: { ...bytesOnly(maxBytes), parse: 'gunzip' } };
}

/** The body of a request whose route has `takesJson`; one that is empty is `{}`. */
export function readJson({ headers, payload }: Pick<Request, 'headers' | 'payload'>): unknown {
  return jsonOf(headers['content-type'], payload as Buffer);
}

function jsonOf(contentType: unknown, bytes: Buffer): unknown {
  const declared = typeof contentType === 'string' ? contentType : '';
  const [type = ''] = declared.split(';');
  if (declared !== '' && !JSON_TYPE.test(type.trim())) throw new ApiError('unsupported_media_type');
  return bytes.length === 0 ? {} : parse(utf8Text(bytes));
}

/** The text of a body. A byte that is no UTF-8 is refused, or the text would be stored damaged. */
function utf8Text(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new ApiError('malformed_body', { errors: { body: [messages.badUtf8] } });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('malformed_body', { cause });
  }
}
