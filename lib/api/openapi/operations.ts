// The operations that no room exports yet, as paths of the document. docs/api.md#operations.

import type Joi from 'joi';
import { BODY_BYTES_MAX } from '../body.ts';
import { CONFIGURATION_BYTES_MAX } from '../../configuration/configuration.ts';
import { endedFlowParameters, flowParameters, refusalParameters } from '../v0/live.ts';
import { PCAPNG_TYPE } from '../../capture/answer.ts';
import type { Filters } from '../../records/collection.ts';
import { headerRefs, jsonContent, schemaRef } from './answers.ts';
import { examples } from './examples.ts';
import { parametersIn } from './paths.ts';
import type { Json } from './schemas.ts';

/** Records of one kind, as the document speaks of them. */
export interface Described {
  /** In paths: `users`. */
  readonly name: string;
  /** In bodies: `user`. */
  readonly wrapper: string;
  /** Of the schemas: `User`. */
  readonly title: string;
  readonly fields: Joi.ObjectSchema;
  readonly filters: Filters<object>;
  /** What `{id}` may be. */
  readonly id: Json;
}

type Method = 'get' | 'post' | 'patch' | 'put' | 'delete';

/** Statuses of operations that read. */
export const READ = [401, 403, 429, 500, 503];
/** Statuses of operations that write. */
export const WRITE = [...READ, 400, 408, 413, 415, 422];
/** Headers of answers to writes. */
export const written = { 'postern-revision': 'Revision', 'postern-applied': 'Applied' };

/** The path of the counters of a rule. */
export function ruleCounterPaths(rules: Described): Json {
  return {
    '/v0/rules/{id}/counters': {
      parameters: [{ name: 'id', in: 'path', required: true, ...rules.id }],
      get: operation(rules, 'showRuleCounters', {
        summary: 'Show how often a rule decided',
        description: 'Hits at the gateway that answers, since it was started.',
        responses: answersOf(
          { 200: answer('The counters.', { data: schemaRef('RuleCounters') }) },
          [404, ...READ],
        ),
      }),
    },
  };
}

/** The paths of what a gateway remembers of devices that cannot connect. */
export function diagnosisPaths(devices: Described): Json {
  return {
    '/v0/devices/{id}/diagnosis': {
      parameters: [{ name: 'id', in: 'path', required: true, ...devices.id }],
      get: operation(devices, 'diagnoseDevice', {
        summary: 'Say why a device cannot connect',
        description: 'One finding of the gateway that answers, and what it rests on.',
        responses: answersOf({ 200: answer('What was found.', { data: schemaRef('Diagnosis') }) }, [
          404,
          ...READ,
        ]),
      }),
    },
    '/v0/unknown_senders': {
      get: operation(devices, 'listUnknownSenders', {
        summary: 'List who sends handshakes that no device can have sent',
        description:
          'Anybody can send one, with any key and from any source. The gateway that answers remembers a part of them.',
        responses: answersOf(
          { 200: answer('The senders.', { data: schemaRef('UnknownSenders') }) },
          READ,
        ),
      }),
    },
  };
}

/** The path of questions about packets. */
export function explainPaths(described: Described): Json {
  return {
    '/v0/explain': {
      post: operation(described, 'explain', {
        summary: 'Explain what becomes of a packet',
        description:
          'The packet path of the gateway that is asked judges the packet. Nothing is sent, and nothing changes.',
        ...body(described, 'create', BODY_BYTES_MAX),
        responses: answersOf(
          { 200: answer('What becomes of it.', { data: schemaRef('Explanation') }) },
          WRITE,
        ),
      }),
    },
  };
}

/** The paths of what is alive at the gateway that is asked. */
export function livePaths(described: Described): Json {
  const list = (title: string, parameters: Joi.ObjectSchema, words: Json, names = {}): Json =>
    operation(described, `list${title}s`, {
      ...words,
      parameters: parametersOf(parameters),
      responses: answersOf(
        {
          200: answer(
            'What is in the memory of the gateway that answers.',
            { data: { type: 'array', items: schemaRef(title) } },
            names,
          ),
        },
        [422, ...READ],
      ),
    });
  return {
    '/v0/flows': {
      get: list(
        'Flow',
        flowParameters,
        {
          summary: 'List live flows',
          description:
            'In an order that means nothing. A flow that is alive all the time is on exactly one page.',
        },
        { Link: 'Link' },
      ),
    },
    '/v0/ended_flows': {
      get: list(
        'EndedFlow',
        endedFlowParameters,
        {
          summary: 'List flows that have ended',
          description: 'The flow that ended last is first. Each is on one page at most.',
        },
        { Link: 'Link' },
      ),
    },
    '/v0/refusals': {
      get: list('Refusal', refusalParameters, {
        summary: 'List refused packets',
        description: 'Packets of devices that are alike are one entry; the latest one is first.',
      }),
    },
  };
}

/** The path of the packets of a device, captured with these parameters. */
export function capturePaths(devices: Described, wishes: Joi.ObjectSchema): Json {
  return {
    '/v0/devices/{id}/capture': {
      parameters: [{ name: 'id', in: 'path', required: true, ...devices.id }],
      get: operation(devices, 'captureDevice', {
        summary: 'Capture the packets of a device',
        description:
          'A stream of pcapng for Wireshark, with a comment on each packet that says what became of it. ' +
          'It ends after `duration` seconds, or when the client goes away. At most two run at a gateway. ' +
          'Unknown parameters are ignored.',
        parameters: parametersOf(wishes),
        responses: answersOf(
          {
            200: {
              description: 'The packets, as they pass.',
              headers: headerRefs(),
              content: { [PCAPNG_TYPE]: {} },
            },
          },
          [404, 422, ...READ],
        ),
      }),
    },
  };
}

/** The parameters of a query. */
export function parametersOf(parameters: Joi.ObjectSchema): Json[] {
  const { keys = {} } = parameters.describe() as { keys?: Record<string, Joi.Description> };
  return parametersIn(Object.keys(keys).map((key) => [key, parameters.extract(key)]));
}

/** The path of the one configuration. */
export function configurationPaths(described: Described): Json {
  const one = { data: schemaRef(described.title) };
  const update = (method: Method): Json =>
    operation(described, `${method === 'put' ? 'put' : 'update'}Configuration`, {
      summary: 'Change the configuration',
      description: 'What is not sent stays as it is. PATCH and PUT are one operation.',
      ...body(described, 'update', CONFIGURATION_BYTES_MAX),
      responses: answersOf({ 200: answer('The whole configuration.', one, written) }, WRITE),
    });
  return {
    '/v0/configuration': {
      get: operation(described, 'showConfiguration', {
        summary: 'Show the configuration',
        responses: answersOf({ 200: answer('The configuration.', one) }, READ),
      }),
      patch: update('patch'),
      put: update('put'),
    },
  };
}

/** The paths of the marks of identity providers, and of linking people anew through one. */
export function trustedProviderPaths(described: Described, relinking: Described): Json {
  const inPath = (name: string, schema: Json): Json => ({
    name,
    in: 'path',
    required: true,
    description: `The ${name} of the entry.`,
    schema,
  });
  const parameters = [
    inPath('kind', { type: 'string', enum: ['oidc', 'saml'] }),
    inPath('id', { type: 'string', minLength: 1 }),
  ];
  const update = (method: Method): Json =>
    operation(described, `${method === 'put' ? 'put' : 'update'}TrustedProvider`, {
      summary: 'Trust an identity provider with e-mail addresses, or no longer',
      description: 'As its entry leads now: one that is turned elsewhere loses the mark.',
      ...body(described, 'update', BODY_BYTES_MAX),
      responses: answersOf(
        { 200: answer('The entry.', { data: schemaRef('TrustedProvider') }, written) },
        [404, ...WRITE],
      ),
    });
  const relink = (method: Method): Json =>
    operation(relinking, `${method === 'put' ? 'put' : 'update'}Relink`, {
      summary: 'Let users be linked anew, after the provider names them in another way',
      description:
        'For seven days the next account of this entry with the e-mail of such a user takes the place of their former one, once.',
      ...body(relinking, 'update', BODY_BYTES_MAX),
      responses: answersOf(
        { 200: answer('Who may be linked anew.', { data: schemaRef('Relink') }, written) },
        [404, ...WRITE],
      ),
    });
  return {
    '/v0/trusted_providers': {
      get: operation(described, 'listTrustedProviders', {
        summary: 'List identity providers with their marks of trust',
        responses: answersOf(
          {
            200: answer('Every entry of the configuration.', {
              data: { type: 'array', items: schemaRef('TrustedProvider') },
            }),
          },
          READ,
        ),
      }),
    },
    '/v0/trusted_providers/{kind}/{id}': {
      parameters,
      patch: update('patch'),
      put: update('put'),
    },
    '/v0/trusted_providers/{kind}/{id}/relink': {
      parameters,
      patch: relink('patch'),
      put: relink('put'),
    },
  };
}

/** The paths of metadata that are fetched from addresses of SAML providers. */
export function samlMetadataPaths(described: Described): Json {
  const id: Json = {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the entry.',
    schema: { type: 'string', minLength: 1 },
  };
  const update = (method: Method): Json =>
    operation(described, `${method === 'put' ? 'put' : 'update'}SamlMetadata`, {
      summary: 'Fetch the metadata of a SAML provider, or make its former certificates void',
      description:
        'If the fetched document cannot be used, `problem` says why, and the last good metadata stay in force.',
      ...body(described, 'update', BODY_BYTES_MAX),
      responses: answersOf(
        { 200: answer('What is known now.', { data: schemaRef('SamlMetadata') }, written) },
        [404, ...WRITE],
      ),
    });
  return {
    '/v0/saml_metadata': {
      get: operation(described, 'listSamlMetadata', {
        summary: 'List SAML providers whose metadata are fetched from an address',
        responses: answersOf(
          {
            200: answer('Every entry that has a `metadata_url`.', {
              data: { type: 'array', items: schemaRef('SamlMetadata') },
            }),
          },
          READ,
        ),
      }),
    },
    '/v0/saml_metadata/{id}': {
      parameters: [id],
      patch: update('patch'),
      put: update('put'),
    },
  };
}

/** One operation on what is described. */
export function operation({ name }: Described, operationId: string, rest: Json): Json {
  return { tags: [name], operationId, ...rest };
}

/** The body of an operation that makes or changes what is described. */
export function body(
  { wrapper, title }: Described,
  mode: 'create' | 'update',
  bytes: number,
): Json {
  const schema = {
    type: 'object',
    required: [wrapper],
    properties: { [wrapper]: schemaRef(`${title}${mode === 'create' ? 'Create' : 'Update'}`) },
  };
  const example = { [wrapper]: examples[wrapper]?.[mode] };
  return {
    requestBody: {
      description: `At most ${bytes} bytes.`,
      required: true,
      content: { 'application/json': { schema, example } },
    },
  };
}

/** An answer with a body. */
export function answer(
  description: string,
  properties: Json,
  names: Record<string, string> = {},
): Json {
  const schema = {
    type: 'object',
    required: ['data'],
    additionalProperties: false,
    properties,
  };
  return { description, headers: headerRefs(names), content: jsonContent(schema) };
}

/** All answers of an operation, those to requests that fail by their status. */
export function answersOf(success: Json, statuses: readonly number[]): Json {
  const faults = statuses.map((status) => [
    String(status),
    { $ref: `#/components/responses/${status}` },
  ]);
  return { ...success, ...(Object.fromEntries(faults) as Json) };
}
