// The OpenAPI document of the API, made of what the API itself uses: the schemas that judge
// requests, the filters of lists, the limits of bodies. docs/api.md#openapi.

import { wishFields } from '../../capture/wishes.ts';
import { endedFlowFields, flowFields, refusalFields } from '../../live/fields.ts';
import { UUID_PARAM } from '../../operations/operation.ts';
import { version } from '../../process/version.ts';
import { operations } from '../../rooms.ts';
import { USER_PARAM } from '../../users/operations.ts';
import {
  allTrafficFields,
  connectionFields,
  ruleTrafficFields,
  trafficFields,
} from '../v0/history.ts';
import { errorAnswers, errorSchemas, headers } from './answers.ts';
import { historyPaths } from './history-operations.ts';
import { capturePaths, type Described, livePaths } from './operations.ts';
import { pathsOf, schemasOf, tagsOf } from './paths.ts';
import { answerSchema, type Json } from './schemas.ts';

const devices: Described = { name: 'devices', id: UUID_PARAM.id };
const users: Described = { name: 'users', id: USER_PARAM.id };
const groups: Described = { name: 'groups', id: UUID_PARAM.id };
const rules: Described = { name: 'rules', id: UUID_PARAM.id };

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
    paths: {
      ...pathsOf(operations),
      ...capturePaths(devices, wishFields),
      ...livePaths(rules),
      ...historyPaths(devices, users, groups, rules),
      ...documentPath,
    },
    components: {
      schemas: {
        ...schemasOf(operations),
        Flow: answerSchema(flowFields),
        EndedFlow: answerSchema(endedFlowFields),
        Refusal: answerSchema(refusalFields),
        Traffic: answerSchema(trafficFields),
        RuleTraffic: answerSchema(ruleTrafficFields),
        AllTraffic: answerSchema(allTrafficFields),
        Connection: answerSchema(connectionFields),
        ...errorSchemas,
      },
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
