// The operations that no room exports yet, as paths of the document. docs/api.md#operations.

import type Joi from 'joi';
import { endedFlowParameters, flowParameters, refusalParameters } from '../v0/live.ts';
import { PCAPNG_TYPE } from '../../capture/answer.ts';
import type { Param } from '../../operations/operation.ts';
import { headerRefs, jsonContent, schemaRef } from './answers.ts';
import { parametersIn } from './paths.ts';
import type { Json } from './schemas.ts';

/** Records of one kind, as the document speaks of them. */
export interface Described {
  /** In paths: `users`. */
  readonly name: string;
  /** What `{id}` may be. */
  readonly id: Param;
}

/** Statuses of operations that read. */
export const READ = [401, 403, 429, 500, 503];

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

/** One operation on what is described. */
export function operation({ name }: Described, operationId: string, rest: Json): Json {
  return { tags: [name], operationId, ...rest };
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
