// The operations on present traffic: live flows of the gateway that is asked, flows that have ended
// there, and packets that it refused lately. docs/api.md#live-flows.

import type Joi from 'joi';
import type { EndedPlace, FlowPlace, ReasonName } from '../../../dataplane/index.ts';
import type { Database } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { schemaOfAnswer } from '../../kit/validation/answers.ts';
import {
  choice,
  cidr,
  idFilter,
  integer,
  isUuid,
  reference,
  resource,
  text,
} from '../../kit/validation/fields.ts';
import { validatorOf } from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';
import { refusalReasons } from '../../domain/policy/reason-words.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../../kit/operations/id-pages.ts';
import { type Operation, type Page, pages, queryOf, read } from '../../kit/operations/operation.ts';
import { listEndedFlows, readEndedCursor, writeEndedCursor } from './ended-flows.ts';
import { endedFlowFields, flowFields, refusalFields } from './fields.ts';
import { type FlowFilter, listFlows, readFlowCursor, writeFlowCursor } from './flows.ts';
import { type DeviceFilter, type LiveGateway, liveGateway } from './gateway.ts';
import { listRefusals } from './refusals.ts';

/** What these lists need of the server. */
export interface LiveContext {
  readonly database: Database;
  /** Left out where there is no data plane. */
  readonly live?: LiveGateway;
}

interface HasLive {
  readonly live: LiveContext;
}

/** Whose packets are asked for, and how many entries. */
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

interface AskedRefusals extends Asked {
  readonly reason?: ReasonName;
}

const limit = integer(
  `How many are answered at most; ${LIMIT_DEFAULT} if it is left out.`,
  1,
  LIMIT_MAX,
);
const whose = {
  device_id: idFilter('Only those of this device.'),
  user_id: idFilter('Only those of devices of this user.'),
};

/** Parameters of a list of flows whose cursors are read by `read`. */
function parametersOf(readCursor: (value: string) => unknown): Joi.ObjectSchema {
  return resource({
    ...whose,
    destination: cidr('Only flows that were opened to this address, or into this network.'),
    rule_id: reference('Only flows on which this rule decided.'),
    limit,
    cursor: text('Where the page begins; taken from the `Link` of the page before.').custom(
      (value: string, helpers) => readCursor(value) ?? helpers.error('cursor.bad'),
      'cursor',
    ),
  });
}

const flowParameters = parametersOf(readFlowCursor);
const endedFlowParameters = parametersOf(readEndedCursor);
const refusalParameters = resource({
  ...whose,
  reason: choice('Only packets that were refused for this reason.', ...refusalReasons),
  limit,
});

const ofGateway = {
  tag: 'rules',
  method: 'GET',
  scopes: ['read'],
} as const;
const description = 'What is in the memory of the gateway that answers.';

/** The operations that list what is alive, what has ended and what was refused. */
export const liveOperations: readonly Operation<HasLive>[] = [
  pages<HasLive, AskedFlows<FlowPlace>>({
    ...ofGateway,
    id: 'listFlows',
    path: '/v0/flows',
    summary: 'List live flows',
    description:
      'In an order that means nothing. A flow that is alive all the time is on exactly one page.',
    query: queryOf(flowParameters, validatorOf<AskedFlows<FlowPlace>>(flowParameters)),
    answer: { title: 'Flow', fields: schemaOfAnswer(flowFields), description },
    page: ({ live }, { query }) => pageOfFlows(live, query, listFlows, writeFlowCursor),
  }),
  pages<HasLive, AskedFlows<EndedPlace>>({
    ...ofGateway,
    id: 'listEndedFlows',
    path: '/v0/ended_flows',
    summary: 'List flows that have ended',
    description: 'The flow that ended last is first. Each is on one page at most.',
    query: queryOf(endedFlowParameters, validatorOf<AskedFlows<EndedPlace>>(endedFlowParameters)),
    answer: { title: 'EndedFlow', fields: schemaOfAnswer(endedFlowFields), description },
    page: ({ live }, { query }) => pageOfFlows(live, query, listEndedFlows, writeEndedCursor),
  }),
  read<HasLive, object, AskedRefusals>({
    ...ofGateway,
    id: 'listRefusals',
    path: '/v0/refusals',
    summary: 'List refused packets',
    description: 'Packets of devices that are alike are one entry; the latest one is first.',
    query: queryOf(refusalParameters, validatorOf<AskedRefusals>(refusalParameters)),
    answer: { title: 'Refusal', fields: schemaOfAnswer(refusalFields), description },
    isSeveral: true,
    async run({ live }, _caller, { query }) {
      const gateway = liveGateway(live);
      const { reason = null, limit: most = LIMIT_DEFAULT } = query;
      const owners = whoseOf(query);
      return owners === null ? [] : listRefusals(gateway, { ...owners, reason }, most);
    },
  }),
];

/** A page of flows that `list` lists; `write` writes where the next one begins. */
async function pageOfFlows<Place>(
  live: LiveContext,
  asked: AskedFlows<Place>,
  list: (
    gateway: LiveGateway,
    filter: FlowFilter,
    most: number,
    from: Place | null,
  ) => Promise<{ readonly flows: Page['records']; readonly next: Place | null }>,
  write: (place: Place) => string,
): Promise<Page> {
  const gateway = liveGateway(live);
  const { destination = null, rule_id: ruleId = null, limit: most = LIMIT_DEFAULT } = asked;
  const { cursor = null } = asked;
  const owners = whoseOf(asked);
  const { flows, next } =
    owners === null
      ? { flows: [], next: null }
      : await list(gateway, { ...owners, destination, ruleId }, most, cursor);
  // A rule that was removed may have flows that ended, so it is missed only where nothing is found.
  if (flows.length === 0 && next === null && cursor === null && ruleId !== null)
    await refuseAbsentRule(live.database, ruleId);
  return { records: flows, next: next === null ? null : write(next) };
}

async function refuseAbsentRule({ models }: Database, id: string): Promise<void> {
  if ((await models.Rule.count({ where: { id } })) > 0) return;
  throw new ApiError('unprocessable', { errors: { rule_id: [messages.absent] } });
}

/** Whose devices are asked for; null: nobody has such an id. */
function whoseOf({ device_id: device = null, user_id: user = null }: Asked): DeviceFilter | null {
  if ([device, user].some((id) => id !== null && !isUuid(id))) return null;
  return { deviceId: device?.toLowerCase() ?? null, userId: user?.toLowerCase() ?? null };
}
