// `GET /v0/flows`, `GET /v0/ended_flows` and `GET /v0/refusals`: what is alive at the gateway that
// is asked, what has ended there, and what it refused lately. They are our own addition to the API.
// docs/api.md#live-flows.

import type { ServerRoute } from '@hapi/hapi';
import type Joi from 'joi';
import type { EndedPlace, FlowPlace, ReasonName } from '../../../dataplane/index.ts';
import type { Database } from '../../../models/index.ts';
import { ApiError } from '../../http/errors.ts';
import { cidr, choice, integer, isUuid, reference, resource, text } from '../../judge/fields.ts';
import { isFaultless, type Judged, judgeOf } from '../../judge/judge.ts';
import { listEndedFlows, readEndedCursor, writeEndedCursor } from '../../live/ended-flows.ts';
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
import { LIMIT_DEFAULT, LIMIT_MAX } from '../../operations/id-pages.ts';
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
