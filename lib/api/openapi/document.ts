// The OpenAPI document of the API, made of what the API itself uses: the schemas that validate
// requests, the filters of lists, the limits of bodies. docs/api.md#openapi.

import { version } from '../../kit/process/version.ts';
import { operations } from '../../rooms.ts';
import { errorAnswers, errorSchemas, headers } from './answers.ts';
import { pathsOf, schemasOf, tagsOf } from './paths.ts';
import type { Json } from './schemas.ts';

const description = [
  'Administers a gateway: users, their devices, the rules that packets obey, one configuration.',
  "Every request carries `Authorization: Bearer <token>` with an administrator's API token.",
  'Requests and answers are JSON; every field of a record is in every answer. A request may leave',
  'out what is not required; unknown and read-only fields are ignored, `""` counts as null, texts',
  'stand for numbers (`"1280"`) and booleans (`"true"`, `"1"`). A write is answered once it is in',
  'force: `postern-applied: true` means that packets obey it already. `HEAD` works wherever `GET`',
  'does.',
].join('\n');

/** The document; `outside` is the path of EXTERNAL_URL, which comes before our paths. */
export function openApiDocument(outside: string): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postern administration API',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: outside === '' ? '/' : outside }],
    security: [{ token: [] }],
    tags: tagsOf(operations),
    paths: { ...pathsOf(operations), ...documentPath },
    components: {
      schemas: { ...schemasOf(operations), ...errorSchemas },
      headers,
      responses: errorAnswers,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: "An administrator's API token." },
      },
    },
  };
}

const documentPath: Json = {
  '/v0/openapi.json': {
    get: {
      operationId: 'showDocument',
      summary: 'Show this document',
      security: [],
      responses: {
        200: {
          description: 'This document.',
          headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
          content: { 'application/json': { schema: { type: 'object' } } },
        },
        429: { $ref: '#/components/responses/429' },
        500: { $ref: '#/components/responses/500' },
      },
    },
  },
};
