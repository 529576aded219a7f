// `GET /v0/flows`, `GET /v0/ended_flows` and `GET /v0/refusals`: what is alive at the gateway that
// is asked, what has ended there, and what it refused lately. They are our own addition to the API.
// docs/api.md#live-flows.

import type { ServerRoute } from '@hapi/hapi';
import type Joi from 'joi';
import type { EndedPlace, FlowPlace, ReasonName } from '../../../dataplane/index.ts';
import type { Database } from '../../../models/index.ts';
import { ApiError } from '../../http/errors.ts';
import {
  cidr,
  choice,
  integer,
  isUuid,
  joi,
  mark,
  recordId,
  reference,
  resource,
  text,
  timestamp,
} from '../../judge/fields.ts';
import { isFaultless, type Judged, judgeOf } from '../../judge/judge.ts';
import {
  endedBecause,
  listEndedFlows,
  readEndedCursor,
  writeEndedCursor,
} from '../../live/ended-flows.ts';
import {
  type FlowFilter,
  listFlows,
  readFlowCursor,
  type ShownFlow,
  writeFlowCursor,
} from '../../live/flows.ts';
import { messages } from '../../judge/messages.ts';
import { sentOnce } from '../../judge/query.ts';
import { liveGateway, type Whose } from '../../live/gateway.ts';
import { listRefusals, refusalReasons } from '../../live/refusals.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../paging.ts';
import { withNextPage } from '../id-pages.ts';
import { type ApiContext, route } from '../routes.ts';

const limit = integer(
  `How many are answered at most; ${LIMIT_DEFAULT} if it is left out.`,
  1,
  LIMIT_MAX,
);
const whose = {
  device_id: text('Only those of this device.'),
  user_id: text('Only those of devices of this user.'),
};

/** Parameters of a list of flows whose cursors are read by `read`. */
function parametersOf(read: (value: string) => unknown): Joi.ObjectSchema {
  return resource({
    ...whose,
    destination: cidr('Only flows that were opened to this address, or into this network.'),
    rule_id: reference('Only flows on which this rule decided.'),
    limit,
    cursor: text('Where the page begins; taken from the `Link` of the page before.').custom(
      (value: string, helpers) => read(value) ?? helpers.error('cursor.bad'),
      'cursor',
    ),
  });
}

/** Parameters of the list of flows. */
export const flowParameters = parametersOf(readFlowCursor);

/** Parameters of the list of ended flows. */
export const endedFlowParameters = parametersOf(readEndedCursor);

/** Parameters of the list of refusals. */
export const refusalParameters = resource({
  ...whose,
  reason: choice('Only packets that were refused for this reason.', ...refusalReasons),
  limit,
});

const protocol = (description: string): Joi.Schema =>
  answered(text(`${description}: \`tcp\`, \`udp\`, \`icmp\`, or the number of another one.`));

const ofFlow = {
  source: answered(text('The address of the side that opened it.')),
  source_port: count('Its port; null: the protocol has none.').allow(null),
  source_device_id: recordId('The device that it is; null: a host behind the gateway.').allow(null),
  destination: answered(text('The address that it was opened to.')),
  port: count('The port that it was opened to; null: the protocol has none.').allow(null),
  destination_device_id: recordId(
    'The device that it was opened to; null: a host behind the gateway.',
  ).allow(null),
  protocol: protocol('The protocol'),
  answered: mark(joi.boolean().description('Whether the other side has sent something.'), {
    readOnly: true,
  }),
  decided_by: answered(
    choice(
      'What lets it pass: a rule, the default action, or nothing, because a host opened it.',
      'rule',
      'default',
      'nothing',
    ),
  ),
  rule_id: recordId('The rule that decided; null: none did.').allow(null),
  sent_packets: count('Packets of the side that opened it.'),
  sent_bytes: count('Bytes of those packets, as they are inside the tunnel.'),
  reply_packets: count('Packets of the other side.'),
  reply_bytes: count('Bytes of those packets.'),
  opened_at: timestamp('When this gateway saw its first packet.'),
  last_seen_at: timestamp('When its last packet passed.'),
};
const gatewayId = recordId('The gateway that answers.');

/** What is answered of a flow. */
export const flowFields = resource({ ...ofFlow, gateway_id: gatewayId });

/** What is answered of a flow that has ended. */
export const endedFlowFields = resource({
  ...ofFlow,
  source_user_id: recordId(
    'Whose device it was when the flow ended; null: a host behind the gateway.',
  ).allow(null),
  destination_user_id: recordId('The same of the other side.').allow(null),
  ended_at: timestamp('When its end was noticed.'),
  ended_because: answered(choice('Why it ended.', ...endedBecause)),
  gateway_id: gatewayId,
});

/** What is answered of refused packets that are alike. */
export const refusalFields = resource({
  device_id: recordId('The device; null: it was deleted just now.').allow(null),
  direction: answered(
    choice('Whether the device sent them, or they were for it.', 'from_device', 'to_device'),
  ),
  source: answered(text('Where they came from; null: they could not be read.')).allow(null),
  destination: answered(text('Where they should have gone; null: they could not be read.')).allow(
    null,
  ),
  protocol: protocol('The protocol; null: they could not be read').allow(null),
  port: count('The port of the destination; null: there is none, or they do not show it.').allow(
    null,
  ),
  reason: answered(choice('Why they were refused, as in metrics.', ...refusalReasons)),
  text: answered(text('The same in words.')),
  rule_id: recordId(
    'The rule that refused the latest one; null: none did, or it is not known.',
  ).allow(null),
  count: count('How many packets there were.'),
  first_at: timestamp('When the first one came.'),
  last_at: timestamp('When the latest one came.'),
  gateway_id: recordId('The gateway that answers.'),
});

interface Asked {
  readonly device_id?: string | null;
  readonly user_id?: string | null;
  readonly limit?: number;
}
interface AskedFlows<Place> extends Asked {
  readonly destination?: string;
  readonly rule_id?: string;
  readonly cursor?: Place;
}
const judgeFlows = judgeOf<AskedFlows<FlowPlace>>(flowParameters);
const judgeEndedFlows = judgeOf<AskedFlows<EndedPlace>>(endedFlowParameters);
const judgeRefusals = judgeOf<Asked & { reason?: ReasonName }>(refusalParameters);

/** The routes. */
export function liveRoutes({ services }: ApiContext): ServerRoute[] {
  /** The route of a list of flows: whose places are written by `write`. */
  const pages = <Place>(
    path: string,
    judge: (sent: Record<string, unknown>, kind: 'update') => Judged<AskedFlows<Place>>,
    write: (place: Place) => string,
    list: (
      filter: FlowFilter,
      most: number,
      from: Place | null,
    ) => Promise<{ readonly flows: readonly ShownFlow[]; readonly next: Place | null }>,
  ): ServerRoute =>
    route('GET', path, {}, async ({ url }, h) => {
      const sent = new URLSearchParams(url.search);
      const asked = accepted(judge(sentOnce(sent), 'update'));
      liveGateway(services);
      const { destination = null, rule_id: rule = null, limit: most = LIMIT_DEFAULT } = asked;
      const owners = whoseOf(asked);
      const { flows, next } =
        owners === null
          ? NO_FLOWS
          : await list({ ...owners, destination, ruleId: rule }, most, asked.cursor ?? null);
      if (flows.length === 0 && next === null && asked.cursor === undefined && rule !== null)
        await refuseAbsentRule(services.database, rule);
      const cursor = next === null ? null : write(next);
      return withNextPage(h.response({ data: flows }), services, { path, sent, cursor });
    });
  return [
    pages<FlowPlace>('/v0/flows', judgeFlows, writeFlowCursor, (filter, most, from) =>
      listFlows(liveGateway(services), filter, most, from),
    ),
    pages<EndedPlace>('/v0/ended_flows', judgeEndedFlows, writeEndedCursor, (...asked) =>
      listEndedFlows(liveGateway(services), ...asked),
    ),
    route('GET', '/v0/refusals', {}, async ({ url }) => {
      const asked = accepted(judgeRefusals(sentOnce(new URLSearchParams(url.search)), 'update'));
      const gateway = liveGateway(services);
      const { reason = null, limit: most = LIMIT_DEFAULT } = asked;
      const owners = whoseOf(asked);
      if (owners === null) return { data: [] };
      return { data: await listRefusals(gateway, { ...owners, reason }, most) };
    }),
  ];
}

const NO_FLOWS = { flows: [], next: null };

/** Of a rule that was removed, flows that have ended may be remembered; so it is asked for last. */
async function refuseAbsentRule({ models }: Database, id: string): Promise<void> {
  if ((await models.Rule.count({ where: { id } })) > 0) return;
  throw new ApiError('unprocessable', { faults: { rule_id: [messages.absent] } });
}

/** Whose devices are asked for; null: nobody has such an id. */
function whoseOf({ device_id: device = null, user_id: user = null }: Asked): Whose | null {
  if ([device, user].some((id) => id !== null && !isUuid(id))) return null;
  return { deviceId: device?.toLowerCase() ?? null, userId: user?.toLowerCase() ?? null };
}

function accepted<Values>({ values, faults }: Judged<Values>): Values {
  if (!isFaultless(faults)) throw new ApiError('unprocessable', { faults });
  return values;
}

function answered<Schema extends Joi.Schema>(schema: Schema): Schema {
  return mark(schema, { readOnly: true });
}

function count(description: string): Joi.Schema {
  return answered(joi.number().integer().min(0).description(description));
}
