// The operations of the history, as paths of the document. docs/api.md#history.

import { connectionParameters } from '../../history/connections.ts';
import { historyParameters } from '../../history/span.ts';
import { allTrafficParameters } from '../v0/history.ts';
import { schemaRef } from './answers.ts';
import { answer, answersOf, type Described, operation, parametersOf, READ } from './operations.ts';
import type { Json } from './schemas.ts';

/** Whose history is asked for. */
interface Subject {
  readonly described: Described;
  /** Of the operation. */
  readonly id: string;
  readonly summary: string;
  readonly schema: string;
}

/** The paths of the history. */
export function historyPaths(
  devices: Described,
  users: Described,
  groups: Described,
  rules: Described,
): Json {
  const subjects = subjectsOf(devices, users, groups, rules);
  const description =
    'All gateways on the database added up. Bytes are those inside the tunnel, without handshakes and keepalives.';
  const get = (described: Described, id: string, summary: string, rest: Json): Json =>
    operation(described, id, { summary, ...rest });
  return {
    ...Object.fromEntries(
      subjects.map(({ described, id, summary, schema }) => [
        `/v0/${described.name}/{id}/traffic`,
        {
          parameters: inPath(described),
          get: get(described, id, summary, {
            description,
            parameters: parametersOf(historyParameters),
            responses: answersOf(
              { 200: orCsv(answer('The history.', { data: schemaRef(schema) })) },
              [404, 422, ...READ],
            ),
          }),
        },
      ]),
    ),
    '/v0/traffic': {
      get: get(devices, 'showTraffic', 'Show what all gateways carried and refused over time', {
        description,
        parameters: parametersOf(allTrafficParameters),
        responses: answersOf(
          { 200: orCsv(answer('The history.', { data: schemaRef('AllTraffic') })) },
          [422, ...READ],
        ),
      }),
    },
    '/v0/devices/{id}/connections': {
      parameters: inPath(devices),
      get: get(devices, 'listConnections', 'List when a device was connected, and from where', {
        description: 'The latest first.',
        parameters: parametersOf(connectionParameters),
        responses: answersOf(
          {
            200: orCsv(
              answer('The connections.', {
                data: { type: 'array', items: schemaRef('Connection') },
              }),
            ),
          },
          [404, 422, ...READ],
        ),
      }),
    },
  };
}

function inPath({ id }: Described): Json[] {
  return [{ name: 'id', in: 'path', required: true, ...id }];
}

/** An answer that may also come as a file for spreadsheets. */
function orCsv(json: Json): Json {
  const content = { ...(json['content'] as Json), 'text/csv': { schema: { type: 'string' } } };
  return { ...json, content };
}

function subjectsOf(
  devices: Described,
  users: Described,
  groups: Described,
  rules: Described,
): Subject[] {
  return [
    {
      described: devices,
      id: 'showDeviceTraffic',
      summary: 'Show what a device carried over time',
      schema: 'Traffic',
    },
    {
      described: users,
      id: 'showUserTraffic',
      summary: "Show what a user's devices carried over time",
      schema: 'Traffic',
    },
    {
      described: groups,
      id: 'showGroupTraffic',
      summary: 'Show what the devices of the members of a group carried over time',
      schema: 'Traffic',
    },
    {
      described: rules,
      id: 'showRuleTraffic',
      summary: 'Show how often a rule decided over time',
      schema: 'RuleTraffic',
    },
  ];
}
