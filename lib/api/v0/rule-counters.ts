// `GET /v0/rules/{id}/counters`: how often a rule decided on a packet. It is our own addition to
// the API. The numbers are those of the gateway that answers, since its start, at most a second
// old. Each of several gateways has its own numbers; metrics add them up.

import type { ServerRoute } from '@hapi/hapi';
import type Joi from 'joi';
import { readRules } from '../../../models/index.ts';
import { ApiError } from '../../http/errors.ts';
import { isUuid, joi, mark, recordId, resource, timestamp } from '../../judge/fields.ts';
import { type Shown, showTime, showTimeOrNull } from '../../records/shown.ts';
import { type ApiContext, route } from '../routes.ts';

/** The counters of a rule, as they are answered. */
export const ruleCounterFields = resource({
  id: recordId('The rule.'),
  packets: count('Packets that the rule decided on; while it is staged, would have decided on.'),
  bytes: count('Bytes of those packets, as they are inside the tunnel.'),
  last_hit_at: timestamp('When the rule decided last; null: not since `counted_since`.').allow(
    null,
  ),
  counted_since: timestamp('Since when this gateway counts: when it was started.'),
});

/** The route of the counters. */
export function ruleCounterRoutes({ services }: ApiContext): ServerRoute[] {
  const since = new Date();
  const { database, observed } = services;
  return [
    route('GET', '/v0/rules/{id}/counters', {}, async (request) => {
      const sent = String(request.params['id']);
      if (!isUuid(sent)) throw new ApiError('not_found');
      const id = sent.toLowerCase();
      const [rule] = await readRules(database, { ids: [id] });
      if (rule === undefined) throw new ApiError('not_found');
      return { data: showCounters(id, observed?.rules().get(id), since) };
    }),
  ];
}

function showCounters(
  id: string,
  hit: { packets: number; bytes: number; lastHitMs: number } | undefined,
  since: Date,
): Shown {
  return {
    id,
    packets: hit?.packets ?? 0,
    bytes: hit?.bytes ?? 0,
    last_hit_at: showTimeOrNull(hit === undefined ? null : new Date(hit.lastHitMs)),
    counted_since: showTime(since),
  };
}

function count(description: string): Joi.Schema {
  return mark(joi.number().integer().min(0).description(description), { readOnly: true });
}
