// The history: `GET /v0/traffic`, `/v0/devices/{id}/traffic`, `/v0/users/{id}/traffic`,
// `/v0/groups/{id}/traffic`, `/v0/rules/{id}/traffic` and `/v0/devices/{id}/connections`. They are
// our own additions to the API. All gateways on the database add up. docs/api.md#history.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type Joi from 'joi';
import { readConnections, readRules } from '../../../models/index.ts';
import { connectionParameters, connectionsCsv, showConnection } from '../../history/connections.ts';
import {
  formatField,
  historyParameters,
  type Span,
  spanFields,
  spanOf,
  type SpanValues,
} from '../../history/span.ts';
import {
  COUNTS,
  readAllTraffic,
  readTraffic,
  type Traffic,
  trafficCsv,
  type TrafficOf,
} from '../../history/traffic.ts';
import { ApiError } from '../../http/errors.ts';
import { choice, isUuid, joi, mark, recordId, resource, timestamp } from '../../judge/fields.ts';
import { isFaultless, type Judge, judgeOf } from '../../judge/judge.ts';
import { parametersOf, sentOnce } from '../../judge/query.ts';
import { refusalReasons } from '../../live/refusals.ts';
import { type ApiContext, route } from '../routes.ts';

/** The parameters of the history of all gateways. */
export const allTrafficParameters = resource({
  ...spanFields,
  format: formatField,
  reason: choice(
    'Counts only packets that were refused for this reason, as metrics name it.',
    ...refusalReasons,
  ),
});

/** Histories, as they are answered. */
export const trafficFields = historyFields(COUNTS.device);
export const ruleTrafficFields = historyFields(COUNTS.rule);
export const allTrafficFields = historyFields(COUNTS.all, {
  refusals: list(
    'Packets that were refused, by reason, the most first.',
    resource({
      reason: answered(joi.string().description('The name of the reason, as in metrics.')),
      packets: count('Packets.'),
    }),
  ),
});

/** A connection, as it is answered. */
export const connectionFields = resource({
  connected_at: timestamp('When the device connected: its first handshake after a silence.'),
  disconnected_at: timestamp('When it was connected no more; null: it still is.').allow(null),
  reason: answered(
    choice(
      'Why it ended; null: it lasts.',
      'silent',
      'elsewhere',
      'removed',
      'gateway_stopped',
      'gateway_lost',
    ),
  ).allow(null),
  gateway_id: recordId('The gateway.'),
  remote_ip: answered(joi.string().description('Where it came from; null: not known.')).allow(null),
  remote_port: answered(joi.number().integer().description('The UDP port there.')).allow(null),
});

/** What was sent of all parameters. */
interface Asked extends SpanValues {
  readonly reason?: string;
  readonly limit?: number;
}

const judgeSpan = judgeOf<Asked>(historyParameters);
const judgeAll = judgeOf<Asked>(allTrafficParameters);
const judgeConnections = judgeOf<Asked>(connectionParameters);

/** The routes. */
export function historyRoutes(context: ApiContext): ServerRoute[] {
  const { database } = context.services;
  const { devices, users, groups } = context.rooms;
  const traffic = (of: Exclude<TrafficOf, 'all'>, idOf: (id: string) => Promise<string>) =>
    route('GET', `/v0/${of}s/{id}/traffic`, {}, async (request, h) => {
      const { span, isCsv } = asked(request, judgeSpan);
      const id = await idOf(String(request.params['id']));
      return answer(h, of, await readTraffic(database, of, id, span), isCsv);
    });
  const shownId = async (shown: Promise<object>): Promise<string> =>
    String(((await shown) as { id: string }).id);
  return [
    traffic('device', (id) => shownId(devices.show(id))),
    traffic('user', (id) => shownId(users.show(id))),
    traffic('group', async (id) => (await groups.find(id)).id),
    traffic('rule', async (sent) => {
      const ids = isUuid(sent) ? [sent.toLowerCase()] : [];
      const [rule] = ids.length === 0 ? [] : await readRules(database, { ids });
      if (rule === undefined) throw new ApiError('not_found');
      return rule.id;
    }),
    route('GET', '/v0/traffic', {}, async (request, h) => {
      const { values, span, isCsv } = asked(request, judgeAll);
      return answer(h, 'all', await readAllTraffic(database, span, values.reason), isCsv);
    }),
    route('GET', '/v0/devices/{id}/connections', {}, async (request, h) => {
      const { values, isCsv } = judged(request, judgeConnections);
      const id = await shownId(devices.show(String(request.params['id'])));
      const found = await readConnections(database, id, values.limit ?? 100);
      const shown = found.map(showConnection);
      return isCsv ? file(h, 'connections', connectionsCsv(shown)) : { data: shown };
    }),
  ];
}

function asked(request: Request, judge: Judge<Asked>) {
  const { values, faults, isCsv } = judged(request, judge);
  const span = spanOf(values, new Date(), faults);
  if (span === null) throw new ApiError('unprocessable', { faults });
  return { values, isCsv, span: span satisfies Span };
}

function judged(request: Request, judge: Judge<Asked>) {
  const parameters = parametersOf(request.url.search);
  const { values, faults } = judge(
    sentOnce(parameters, ['from', 'to', 'step', 'format', 'reason', 'limit']),
    'update',
  );
  if (!isFaultless(faults)) throw new ApiError('unprocessable', { faults });
  return { values, faults, isCsv: wantsCsv(request, values.format) };
}

/** Whoever takes both gets JSON, unless the address says otherwise. */
function wantsCsv({ headers }: Request, format: SpanValues['format']): boolean {
  if (format !== undefined) return format === 'csv';
  const accept: unknown = headers['accept'];
  if (typeof accept !== 'string') return false;
  return /text\/csv/i.test(accept) && !/application\/json/i.test(accept);
}

function answer(
  h: ResponseToolkit,
  of: TrafficOf,
  traffic: Traffic,
  isCsv: boolean,
): object | ResponseObject {
  return isCsv ? file(h, 'traffic', trafficCsv(of, traffic)) : { data: traffic };
}

function file(h: ResponseToolkit, name: string, text: string): ResponseObject {
  return h
    .response(text)
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`);
}

function historyFields(
  names: readonly string[],
  further: Record<string, Joi.Schema> = {},
): Joi.ObjectSchema {
  const counts = (): Record<string, Joi.Schema> =>
    Object.fromEntries(names.map((name) => [name, count(`Sum of \`${name}\`.`)]));
  return resource({
    from: timestamp('The beginning of the first step.'),
    to: timestamp('The end of the last step.'),
    step: count('Seconds of one point.'),
    totals: answered(resource(always(counts())).description('The sums of all points.')),
    points: list(
      'All steps in their order, also those in which nothing was counted.',
      resource({ at: timestamp('The beginning of the step.'), ...counts() }),
    ),
    ...further,
  });
}

/** Joi describes a record within a record as it judges it: what is always there is required. */
function always(fields: Record<string, Joi.Schema>): Record<string, Joi.Schema> {
  return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.required()]));
}

function list(description: string, entry: Joi.ObjectSchema): Joi.ArraySchema {
  return answered(joi.array().items(entry).description(description));
}

function count(description: string): Joi.Schema {
  return answered(joi.number().integer().min(0).description(description));
}

function answered<Schema extends Joi.Schema>(schema: Schema): Schema {
  return mark(schema, { readOnly: true });
}
