// The operations on the past: what was carried and refused over time, and when a device was
// connected. The answers add up all gateways on the database. docs/api.md#history.

import { type Database, readConnections } from '../../../models/index.ts';
import { type AnswerTable, schemaOfAnswer } from '../../kit/validation/answers.ts';
import { choice, resource } from '../../kit/validation/fields.ts';
import {
  hasNoErrors,
  type Validated,
  type Validator,
  validatorOf,
} from '../../kit/validation/validate.ts';
import {
  type Answer,
  type Operation,
  type Param,
  queryOf,
  read,
  USER_PARAM,
  UUID_PARAM,
} from '../../kit/operations/operation.ts';
import { refusalReasons } from '../../domain/policy/reason-words.ts';
import type { Shown } from '../../kit/records/shown.ts';
import {
  connectionFields,
  connectionParameters,
  CONNECTIONS_SHOWN,
  connectionsCsv,
  showConnection,
  type ShownConnection,
} from './connections.ts';
import {
  formatField,
  historyParameters,
  type Span,
  spanFields,
  spanOf,
  type SpanValues,
} from './span.ts';
import {
  COUNTS,
  readAllTraffic,
  readTraffic,
  refusalFields,
  type Traffic,
  trafficCsv,
  trafficFields,
  type TrafficOf,
} from './traffic.ts';

interface Shows {
  show(id: string): Promise<Shown>;
}

interface HasHistory {
  readonly records: { readonly database: Database };
  readonly devices: Shows;
  readonly users: Shows;
  readonly groups: { find(id: string): Promise<{ readonly id: string }> };
  readonly rules: Shows;
}

/** What is asked of the history of all gateways. */
interface AskedAll extends SpanValues {
  readonly reason?: string;
}

/** What is asked of connections. */
interface AskedConnections extends Pick<SpanValues, 'format'> {
  readonly limit?: number;
}

/** What was asked, and the time that it means. */
type InSpan<Asked> = Asked & { readonly span: Span };

const allTrafficParameters = resource({
  ...spanFields,
  format: formatField,
  reason: choice(
    'Counts only packets that were refused for this reason, as metrics name it.',
    ...refusalReasons,
  ),
});

const description =
  'All gateways on the database added up. Bytes are those inside the tunnel, without handshakes and keepalives.';

const carried = answerOf('Traffic', trafficFields(COUNTS.device));
const decided = answerOf('RuleTraffic', trafficFields(COUNTS.rule));

/** The operations that read the history. */
export const historyOperations: readonly Operation<HasHistory>[] = [
  trafficOperation('device', carried, UUID_PARAM, {
    summary: 'Show what a device carried over time',
    idOf: async ({ devices }, id) => idIn(await devices.show(id)),
  }),
  trafficOperation('user', carried, USER_PARAM, {
    summary: "Show what a user's devices carried over time",
    idOf: async ({ users }, id) => idIn(await users.show(id)),
  }),
  trafficOperation('group', carried, UUID_PARAM, {
    summary: 'Show what the devices of the members of a group carried over time',
    idOf: async ({ groups }, id) => (await groups.find(id)).id,
  }),
  trafficOperation('rule', decided, UUID_PARAM, {
    summary: 'Show how often a rule decided over time',
    idOf: async ({ rules }, id) => idIn(await rules.show(id)),
  }),
  read<HasHistory, object, InSpan<AskedAll>, Traffic>({
    id: 'showTraffic',
    method: 'GET',
    path: '/v0/traffic',
    tag: 'devices',
    scopes: ['read'],
    summary: 'Show what all gateways carried and refused over time',
    description,
    query: queryOf(allTrafficParameters, inSpan(validatorOf<AskedAll>(allTrafficParameters))),
    answer: answerOf('AllTraffic', { ...trafficFields(COUNTS.all), ...refusalFields }),
    csv: csvOf('all'),
    run: ({ records }, _caller, { query: { span, reason } }) =>
      readAllTraffic(records.database, span, reason),
  }),
  read<HasHistory, object, AskedConnections, readonly ShownConnection[]>({
    id: 'listConnections',
    method: 'GET',
    path: '/v0/devices/{id}/connections',
    tag: 'devices',
    params: UUID_PARAM,
    scopes: ['read'],
    summary: 'List when a device was connected, and from where',
    description: 'The latest first.',
    query: queryOf(connectionParameters, validatorOf<AskedConnections>(connectionParameters)),
    answer: {
      title: 'Connection',
      fields: schemaOfAnswer(connectionFields),
      description: 'The connections.',
    },
    isSeveral: true,
    csv: { fileName: 'connections', write: connectionsCsv },
    async run({ records, devices }, _caller, { params, query: { limit = CONNECTIONS_SHOWN } }) {
      const id = idIn(await devices.show(params['id'] ?? ''));
      return (await readConnections(records.database, id, limit)).map(showConnection);
    },
  }),
];

/** Whose history it is, in words, and which record its path names. */
interface Subject {
  readonly summary: string;
  readonly idOf: (rooms: HasHistory, named: string) => Promise<string>;
}

function trafficOperation(
  of: Exclude<TrafficOf, 'all'>,
  answer: Answer,
  params: Readonly<Record<'id', Param>>,
  { summary, idOf }: Subject,
): Operation<HasHistory> {
  return read<HasHistory, object, InSpan<SpanValues>, Traffic>({
    id: `show${of.charAt(0).toUpperCase()}${of.slice(1)}Traffic`,
    method: 'GET',
    path: `/v0/${of}s/{id}/traffic`,
    tag: `${of}s`,
    params,
    scopes: ['read'],
    summary,
    description,
    query: queryOf(historyParameters, inSpan(validatorOf<SpanValues>(historyParameters))),
    answer,
    csv: csvOf(of),
    run: async (rooms, _caller, { params: { id = '' }, query: { span } }) =>
      readTraffic(rooms.records.database, of, await idOf(rooms, id), span),
  });
}

function answerOf(title: string, fields: AnswerTable): Answer {
  return { title, fields: schemaOfAnswer(fields), description: 'The history.' };
}

function csvOf(of: TrafficOf) {
  return { fileName: 'traffic', write: (traffic: Traffic) => trafficCsv(of, traffic) };
}

/** Validates what was sent, and finds the time that it means. */
function inSpan<Asked extends SpanValues>(validate: Validator<Asked>): Validator<InSpan<Asked>> {
  return (sent, mode): Validated<InSpan<Asked>> => {
    const { values, errors } = validate(sent, mode);
    const span = spanOf(values, new Date(), errors);
    if (span === null && hasNoErrors(errors)) throw new Error('a span without an error is missing');
    return { values: { ...values, span: span as Span }, errors };
  };
}

function idIn({ id }: Shown): string {
  return String(id);
}
