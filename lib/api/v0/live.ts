// `GET /v0/flows` and `GET /v0/refusals`: what is alive at the gateway that is asked, and what it
// refused lately. They are our own addition to the API. docs/api.md#live-flows.

import type { ServerRoute } from '@hapi/hapi';
import type Joi from 'joi';
import type { FlowPlace, ReasonName } from '../../../dataplane/index.ts';
import { ApiError } from '../../http/errors.ts';
import {
  cidr,
  choice,
  integer,
  isUuid,
  joi,
  mark,
  recordId,
  resource,
  text,
  timestamp,
} from '../../judge/fields.ts';
import { isFaultless, type Judged, judgeOf } from '../../judge/judge.ts';
import { listFlows, readFlowCursor, writeFlowCursor } from '../../live/flows.ts';
import type { LiveGateway, Whose } from '../../live/gateway.ts';
import { listRefusals, refusalReasons } from '../../live/refusals.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../paging.ts';
import { type ApiContext, outsidePath, route } from '../routes.ts';

const limit = integer(
  `How many are answered at most; ${LIMIT_DEFAULT} if it is left out.`,
  1,
  LIMIT_MAX,
);
const whose = {
  device_id: text('Only those of this device.'),
  user_id: text('Only those of devices of this user.'),
};

/** Parameters of the list of flows. */
export const flowParameters = resource({
  ...whose,
  destination: cidr('Only flows that were opened to this address, or into this network.'),
  rule_id: text('Only flows on which this rule decided.'),
  limit,
  cursor: text('Where the page begins; taken from the `Link` of the page before.').custom(
    (value: string, helpers) => readFlowCursor(value) ?? helpers.error('cursor.bad'),
    'cursor',
  ),
});

/** Parameters of the list of refusals. */
export const refusalParameters = resource({
  ...whose,
  reason: choice('Only packets that were refused for this reason.', ...refusalReasons),
  limit,
});

const protocol = (description: string): Joi.Schema =>
  answered(text(`${description}: \`tcp\`, \`udp\`, \`icmp\`, or the number of another one.`));

/** What is answered of a flow. */
export const flowFields = resource({
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
  gateway_id: recordId('The gateway that answers.'),
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
const judgeFlows = judgeOf<Asked & { destination?: string; rule_id?: string; cursor?: FlowPlace }>(
  flowParameters,
);
const judgeRefusals = judgeOf<Asked & { reason?: ReasonName }>(refusalParameters);

/** The routes. */
export function liveRoutes({ services }: ApiContext): ServerRoute[] {
  const gatewayOf = (): LiveGateway => {
    if (services.live === undefined) throw new ApiError('service_unavailable');
    return services.live;
  };
  return [
    route('GET', '/v0/flows', {}, async ({ url }, h) => {
      const sent = new URLSearchParams(url.search);
      const asked = accepted(judgeFlows(sentOnce(sent), 'update'));
      const gateway = gatewayOf();
      const { destination = null, rule_id: rule = null, limit: most = LIMIT_DEFAULT } = asked;
      const owners = whoseOf(asked);
      if (owners === null || (rule !== null && !isUuid(rule))) return { data: [] };
      const filter = { ...owners, destination, ruleId: rule?.toLowerCase() ?? null };
      const { flows, next } = await listFlows(gateway, filter, most, asked.cursor ?? null);
      const response = h.response({ data: flows });
      if (next === null) return response;
      sent.set('cursor', writeFlowCursor(next));
      return response.header(
        'link',
        `<${outsidePath(services)}/v0/flows?${sent.toString()}>; rel="next"`,
      );
    }),
    route('GET', '/v0/refusals', {}, async ({ url }) => {
      const asked = accepted(judgeRefusals(sentOnce(new URLSearchParams(url.search)), 'update'));
      const gateway = gatewayOf();
      const { reason = null, limit: most = LIMIT_DEFAULT } = asked;
      const owners = whoseOf(asked);
      if (owners === null) return { data: [] };
      return { data: await listRefusals(gateway, { ...owners, reason }, most) };
    }),
  ];
}

/** Whose devices are asked for; null: nobody has such an id. */
function whoseOf({ device_id: device = null, user_id: user = null }: Asked): Whose | null {
  if ([device, user].some((id) => id !== null && !isUuid(id))) return null;
  return { deviceId: device?.toLowerCase() ?? null, userId: user?.toLowerCase() ?? null };
}

/** A parameter that is empty or sent several times becomes a list, which the judge refuses. */
function sentOnce(parameters: URLSearchParams): Record<string, unknown> {
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name) => {
      const values = parameters.getAll(name);
      return [name, values.length === 1 && values[0] !== '' ? values[0] : values];
    }),
  );
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
