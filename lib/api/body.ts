// Request bodies: which types are read, that they are JSON, that the wrapper is there; then the
// judge. It runs as hapi's `validate.payload` step, and handlers get what it came to. The bytes are
// parsed here and not by hapi, which would take forms and texts too. docs/api.md#requests.

import { PassThrough } from 'node:stream';
import Boom from '@hapi/boom';
import type { Lifecycle, Plugin, Request, RouteOptions } from '@hapi/hapi';
import { ApiError } from '../http/errors.ts';
import { isObject, type Judge, type Judged, type Mode } from '../judge/judge.ts';
import { messages } from '../judge/messages.ts';

/** Greatest body of most operations. */
export const BODY_BYTES_MAX = 1_048_576;

const JSON_TYPE = /^application\/([a-z0-9!#$&^_.-]+\+)?json$/i;

/** A body that holds one record in a wrapper. */
export interface BodyOptions<Values> {
  readonly wrapper: string;
  readonly judge: Judge<Values>;
  readonly mode: Mode;
  readonly maxBytes?: number;
}

/** Route options that read and judge a body. */
export function takesBody<Values>(options: BodyOptions<Values>): RouteOptions {
  const { wrapper, judge, mode, maxBytes = BODY_BYTES_MAX } = options;
  return {
    payload: { ...bytesOnly(maxBytes), parse: 'gunzip' },
    validate: {
      payload: async (bytes, { context }) => {
        const { headers } = context as { headers: Request['headers'] };
        return judge(readRecord(headers['content-type'], bytes as Buffer, wrapper), mode);
      },
      failAction: throwAsItIs,
    },
  };
}

/**
 * Lets bodies whose length nobody declared be refused with an answer. hapi's reader destroys the
 * stream that brings too much, and the connection with it where that is the request itself; so
 * they are read through a stream in between, as compressed ones are.
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

/** Route options for operations whose body, if any, means nothing. */
export const ignoresBody: RouteOptions = { payload: bytesOnly(BODY_BYTES_MAX) };

/** What `takesBody` made of the body of this request. */
export function judgedBody<Values>(request: Request): Judged<Values> {
  return request.payload as unknown as Judged<Values>;
}

/** The type is ours to judge, so hapi is told that it is always the same. */
function bytesOnly(maxBytes: number): NonNullable<RouteOptions['payload']> {
  return { parse: false, output: 'data', override: 'application/octet-stream', maxBytes };
}

function readRecord(contentType: unknown, bytes: Buffer, wrapper: string): object {
  const declared = typeof contentType === 'string' ? contentType : '';
  const [type = ''] = declared.split(';');
  if (declared !== '' && !JSON_TYPE.test(type.trim())) throw new ApiError('unsupported_media_type');
  const body = bytes.length === 0 ? {} : parse(bytes.toString('utf8'));
  const record: unknown =
    isObject(body) && Object.hasOwn(body, wrapper)
      ? (body as Record<string, unknown>)[wrapper]
      : undefined;
  if (!isObject(record))
    throw new ApiError('missing_wrapper', { faults: { [wrapper]: [messages.blank] } });
  return record;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('malformed_body', { cause });
  }
}

/** hapi makes a 400 of whatever a judge throws; a mistake of ours must stay a 500. */
const throwAsItIs: Lifecycle.FailAction = (_request, _h, error) => {
  if (error instanceof ApiError) throw error;
  throw Boom.internal('judging a body failed', error);
};
