// The questions who may reach an address, of one process. Each reads all rows and keeps the main
// thread busy for up to some seconds, so one runs at a time, few wait, and others are refused.
// docs/api.md#who-may-reach-an-address.

import { PageError } from '../../kit/http/page-error.ts';
import type { Recall } from '../../kit/records/recall.ts';
import { reachOf, type Reaching, type WhoAsked, type WhoContext } from './who.ts';

/** Requests that wait beside the one whose question runs. */
const WAITING_MAX = 8;
/** Requests of one asker, so that no one keeps all others from asking. */
const PER_ASKER_MAX = 4;

const BUSY = {
  title: 'Busy, ask again',
  text: 'This gateway answers other questions about who may reach an address. Wait some seconds, then ask again.',
} as const;

/** What asking needs of the server. */
export interface AskWhoContext {
  readonly services: WhoContext;
  readonly recall: Recall;
}

/** Asks one question after the other. */
export class WhoQuestions {
  readonly #context: AskWhoContext;
  /** By their texts: questions that have not begun. */
  readonly #waiting = new Map<string, Promise<Reaching>>();
  /** Resolves when the question that was asked last is answered, whatever the answer. */
  #last: Promise<unknown> = Promise.resolve();
  /** How many requests each asker has. */
  readonly #requests = new Map<string, number>();
  #requested = 0;

  constructor(context: AskWhoContext) {
    this.#context = context;
  }

  /** Says who may reach an address; refuses where too many wait, of all or of the asker. */
  async ask(asked: WhoAsked, asker: string): Promise<Reaching> {
    const own = this.#requests.get(asker) ?? 0;
    if (this.#requested > WAITING_MAX || own === PER_ASKER_MAX)
      throw new PageError('too_many_requests', BUSY, { reason: 'too_many_questions' });
    this.#requested += 1;
    this.#requests.set(asker, own + 1);
    try {
      return await this.#share(asked);
    } finally {
      this.#requested -= 1;
      const left = (this.#requests.get(asker) ?? 1) - 1;
      if (left === 0) this.#requests.delete(asker);
      else this.#requests.set(asker, left);
    }
  }

  /**
   * The answer of an equal question that has not begun, or of a new one. A question that has begun
   * may have read rows that were changed since.
   */
  #share(asked: WhoAsked): Promise<Reaching> {
    const { destination, protocol, port } = asked;
    const text = `${destination} ${protocol} ${port}`;
    const waiting = this.#waiting.get(text);
    if (waiting !== undefined) return waiting;
    const answer = this.#run(text, asked, this.#last);
    this.#waiting.set(text, answer);
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #run(text: string, asked: WhoAsked, before: Promise<unknown>): Promise<Reaching> {
    await before;
    this.#waiting.delete(text);
    const { services, recall } = this.#context;
    return reachOf(services, recall, asked);
  }
}
