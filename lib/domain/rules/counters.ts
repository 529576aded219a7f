// How often a rule decided on a packet. It is our own addition to the API. The numbers are those of
// the gateway that answers, since its start, at most a second old. Each of several gateways has its
// own numbers; metrics add them up.

import type Joi from 'joi';
import { type Database, readRules } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { isUuid, joi, mark, recordId, resource, timestamp } from '../../kit/validation/fields.ts';
import { type Shown, showTime, showTimeOrNull } from '../../kit/records/shown.ts';

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

/** What counters need of the server. */
export interface CountersContext {
  readonly services: {
    readonly database: Database;
    /** Left out where there is no data plane. */
    readonly observed?: { readonly rules: () => ReadonlyMap<string, Hits> };
  };
}

interface Hits {
  readonly packets: number;
  readonly bytes: number;
  readonly lastHitMs: number;
}

/** The counters of the rules at the gateway of this process. */
export class RuleCounters {
  readonly #since = new Date();
  readonly #context: CountersContext;

  constructor(context: CountersContext) {
    this.#context = context;
  }

  async show(ruleId: string): Promise<Shown> {
    const { database, observed } = this.#context.services;
    if (!isUuid(ruleId)) throw new ApiError('not_found');
    const id = ruleId.toLowerCase();
    const [rule] = await readRules(database, { ids: [id] });
    if (rule === undefined) throw new ApiError('not_found');
    return showCounters(id, observed?.rules().get(id), this.#since);
  }
}

function showCounters(id: string, hit: Hits | undefined, since: Date): Shown {
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
