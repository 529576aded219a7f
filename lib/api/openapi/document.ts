// The OpenAPI document of the API, made of what the API itself uses: the schemas that judge
// requests, the filters of lists, the limits of bodies. docs/api.md#openapi.

import { wishFields } from '../../capture/wishes.ts';
import { configurationSchema } from '../../configuration/configuration.ts';
import { deviceSchema, deviceFilters } from '../../devices/devices.ts';
import { questionFields } from '../../explain/question.ts';
import { diagnosisFields, unknownSendersFields } from '../v0/diagnosis.ts';
import { explanationFields } from '../v0/explain.ts';
import { endedFlowFields, flowFields, refusalFields } from '../../live/fields.ts';
import {
  allTrafficFields,
  connectionFields,
  ruleTrafficFields,
  trafficFields,
} from '../v0/history.ts';
import { ruleCounterFields } from '../v0/rule-counters.ts';
import { ruleFilters, ruleSchema } from '../../rules/rules.ts';
import { relinkFields } from '../v0/relinking.ts';
import { samlMetadataFields } from '../v0/saml-metadata.ts';
import { trustedProviderFields } from '../v0/trusted-providers.ts';
import { version } from '../../process/version.ts';
import { deviceOperations } from '../../devices/operations.ts';
import { dryRunOperation } from '../../dry-run/operations.ts';
import { groupSchema } from '../../groups/groups.ts';
import { groupOperations } from '../../groups/operations.ts';
import { policyTestOperations } from '../../policy-tests/operations.ts';
import { ruleOperations } from '../../rules/operations.ts';
import { apiTokenOperations } from '../../auth/operations.ts';
import { enrolmentOperations } from '../../enrolment/operations.ts';
import { auditOperation, gatewayOperation } from '../../records/operations.ts';
import { operations } from '../../rooms.ts';
import { userOperations } from '../../users/operations.ts';
import { userSchema, userFilters } from '../../users/users.ts';
import { errorAnswers, errorSchemas, headers } from './answers.ts';
import {
  capturePaths,
  configurationPaths,
  type Described,
  diagnosisPaths,
  explainPaths,
  livePaths,
  ruleCounterPaths,
  samlMetadataPaths,
  trustedProviderPaths,
} from './operations.ts';
import { historyPaths } from './history-operations.ts';
import { pathsOf, schemasOf, tagsOf } from './paths.ts';
import { answerSchema, type Json, requestSchema } from './schemas.ts';

const uuid: Json = { description: 'In any case.', schema: { type: 'string', format: 'uuid' } };
const uuidOrEmail: Json = {
  description: 'The UUID in any case, or the e-mail, percent-encoded or not, in any case.',
  schema: { type: 'string', minLength: 1 },
};

const devices: Described = {
  name: 'devices',
  wrapper: 'device',
  title: 'Device',
  fields: deviceSchema,
  filters: deviceFilters,
  id: uuid,
};
const users: Described = {
  name: 'users',
  wrapper: 'user',
  title: 'User',
  fields: userSchema,
  filters: userFilters,
  id: uuidOrEmail,
};
const groups: Described = {
  name: 'groups',
  wrapper: 'group',
  title: 'Group',
  fields: groupSchema,
  filters: {},
  id: uuid,
};
const rules: Described = {
  name: 'rules',
  wrapper: 'rule',
  title: 'Rule',
  fields: ruleSchema,
  filters: ruleFilters,
  id: uuid,
};
const configuration: Described = {
  name: 'configuration',
  wrapper: 'configuration',
  title: 'Configuration',
  fields: configurationSchema,
  filters: {},
  id: {},
};

const trustedProviders: Described = {
  ...configuration,
  wrapper: 'trusted_provider',
  title: 'TrustedProvider',
  fields: trustedProviderFields,
};

const relinking: Described = {
  ...configuration,
  wrapper: 'relink',
  title: 'Relink',
  fields: relinkFields,
};

const questions: Described = {
  ...rules,
  wrapper: 'explain',
  title: 'Question',
  fields: questionFields,
};

const samlMetadata: Described = {
  ...configuration,
  wrapper: 'saml_metadata',
  title: 'SamlMetadata',
  fields: samlMetadataFields,
};

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
    tags: [...new Set([...tagsOf(operations), { name: 'configuration' }])],
    paths: {
      ...pathsOf(deviceOperations),
      ...capturePaths(devices, wishFields),
      ...pathsOf(userOperations),
      ...pathsOf(enrolmentOperations),
      ...pathsOf(ruleOperations),
      ...ruleCounterPaths(rules),
      ...explainPaths(questions),
      ...pathsOf([dryRunOperation]),
      ...diagnosisPaths(devices),
      ...livePaths(rules),
      ...historyPaths(devices, users, groups, rules),
      ...pathsOf(policyTestOperations),
      ...configurationPaths(configuration),
      ...trustedProviderPaths(trustedProviders, relinking),
      ...samlMetadataPaths(samlMetadata),
      ...pathsOf(groupOperations),
      ...pathsOf([...apiTokenOperations, auditOperation, gatewayOperation]),
      ...documentPath,
    },
    components: {
      schemas: {
        ...schemasOf(operations),
        QuestionCreate: requestSchema(questionFields, 'create'),
        Explanation: answerSchema(explanationFields),
        Diagnosis: answerSchema(diagnosisFields),
        UnknownSenders: answerSchema(unknownSendersFields),
        Flow: answerSchema(flowFields),
        EndedFlow: answerSchema(endedFlowFields),
        Refusal: answerSchema(refusalFields),
        RuleCounters: answerSchema(ruleCounterFields),
        Traffic: answerSchema(trafficFields),
        RuleTraffic: answerSchema(ruleTrafficFields),
        AllTraffic: answerSchema(allTrafficFields),
        Connection: answerSchema(connectionFields),
        Configuration: answerSchema(configurationSchema),
        ConfigurationUpdate: requestSchema(configurationSchema, 'update'),
        TrustedProvider: answerSchema(trustedProviderFields),
        TrustedProviderUpdate: requestSchema(trustedProviderFields, 'update'),
        Relink: answerSchema(relinkFields),
        RelinkUpdate: requestSchema(relinkFields, 'update'),
        SamlMetadata: answerSchema(samlMetadataFields),
        SamlMetadataUpdate: requestSchema(samlMetadataFields, 'update'),
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
