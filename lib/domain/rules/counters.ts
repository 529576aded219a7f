// How often a rule decided on a packet. It is our own addition to the API. The numbers are those of
// the gateway that answers, since its start, at most a second old. Each of several gateways has its
// own numbers; metrics add them up.

import { type Database, readRules } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { type AnswerOf, answerTable, schemaOfAnswer } from '../../kit/validation/answers.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { showTime, showTimeOrNull } from '../../kit/records/shown.ts';

/** The counters of a rule, as they are answered. */
const counterTable = answerTable({
  id: { kind: 'id', description: 'The rule.' },
  packets: {
    kind: 'count',
    description: 'Packets that the rule decided on; while it is staged, would have decided on.',
  },
  bytes: {
    kind: 'count',
    description: 'Bytes of those packets, as they are inside the tunnel.',
  },
  last_hit_at: {
    kind: 'time',
    description: 'When the rule decided last; null: not since `counted_since`.',
    nullable: true,
  },
  counted_since: {
    kind: 'time',
    description: 'Since when this gateway counts: when it was started.',
  },
});

/** The schema of the counters. */
export const ruleCounterFields = schemaOfAnswer(counterTable);

/** The counters of a rule. */
export type Counted = AnswerOf<typeof counterTable>;

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

  async show(ruleId: string): Promise<Counted> {
    const { database, observed } = this.#context.services;
    if (!isUuid(ruleId)) throw new ApiError('not_found');
    const id = ruleId.toLowerCase();
    const [rule] = await readRules(database, { ids: [id] });
    if (rule === undefined) throw new ApiError('not_found');
    return showCounters(id, observed?.rules().get(id), this.#since);
  }
}

function showCounters(id: string, hit: Hits | undefined, since: Date): Counted {
  return {
    id,
    packets: hit?.packets ?? 0,
    bytes: hit?.bytes ?? 0,
    last_hit_at: showTimeOrNull(hit === undefined ? null : new Date(hit.lastHitMs)),
    counted_since: showTime(since),
  };
}
