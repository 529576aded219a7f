// Questions about what the workers of a gateway know: what becomes of a packet, what they remember
// of handshakes, live flows, refused packets. Asking changes nothing.

import type { AnswerTo, AskedOf, WorkerQuestion } from '../worker/answers.ts';
import type { Amendment } from '../contract.ts';
import type { TriedChange } from '../diff.ts';
import { type ChangeEffect, effectAmong } from '../path/effect.ts';
import { endedAmong, type EndedPage, type EndedPlace } from '../path/ended-list.ts';
import { explainAmong, type Explanation, type Question } from '../path/explain.ts';
import {
  busiestAmong,
  type FlowPage,
  type FlowPlace,
  type FlowQuery,
  flowsAmong,
  type LiveFlow,
} from '../path/flow-list.ts';
import { type RefusalQuery, refusalsAmong, type SeenRefusal } from '../path/refusal-list.ts';
import { RECEPTIONIST } from '../wireguard/steering.ts';
import { joinTraces, type Trace } from '../wireguard/trace.ts';
import type { UnknownSenders } from '../wireguard/unknown-senders.ts';

/** What a gateway can be asked, and what is answered. */
export interface Questions {
  /**
   * Explains what would become of a packet now, and changes nothing. Null while no worker can say
   * it, for example because the device is not served.
   */
  explain(question: Question): Explanation | null;
  /**
   * What is remembered of the last handshakes of a device, and of what came through its tunnel.
   * Null: it is not served.
   */
  diagnose(publicKey: string): Trace | null;
  /**
   * Who sent initiations that no device can have sent: with a key that nobody has, or made for the
   * key of another gateway. A part of them, where there were many.
   */
  unknownSenders(): UnknownSenders;
  /**
   * A page of at most `limit` flows that are alive now. Their order means nothing. A flow that is
   * alive all the time is on exactly one page.
   */
  flows(query: FlowQuery, limit: number, from: FlowPlace | null): FlowPage;
  /** At most `limit` flows that carry most at present, the fastest first; 100 of each worker. */
  busiest(query: FlowQuery, limit: number): readonly LiveFlow[];
  /** A page of at most `limit` flows that have ended; the one that ended last is first. */
  endedFlows(query: FlowQuery, limit: number, from: EndedPlace | null): EndedPage;
  /** The latest `limit` kinds of refused packets, the latest one first. */
  refusals(query: RefusalQuery, limit: number): readonly SeenRefusal[];
  /**
   * What a change would do to the present flows and to the packets that were refused lately, if it
   * were put in force. At most `limit` of each are listed, all are counted.
   */
  effectOf(amendment: Amendment, limit: number): ChangeEffect;
}

/** Asks a gateway. */
export type Ask = <Name extends keyof Questions>(
  name: Name,
  ...asked: Parameters<Questions[Name]>
) => Promise<ReturnType<Questions[Name]>>;

/** The workers of a gateway, as questions ask them. */
export interface AskedWorkers {
  readonly count: () => number;
  /** Asks a worker. Null: it gives no answer, because it is being started. */
  ask<Name extends WorkerQuestion>(
    worker: number,
    name: Name,
    ...asked: AskedOf<Name>
  ): Promise<AnswerTo<Name> | null>;
  /** What an amendment would change of what is in force, at the moment of each call. */
  trial(amendment: Amendment): () => TriedChange;
}

type Asked<Name extends keyof Questions> = (
  workers: AskedWorkers,
  ...asked: Parameters<Questions[Name]>
) => Promise<ReturnType<Questions[Name]>>;

/** Which workers each question asks, and how their answers are joined. */
const questions: { readonly [Name in keyof Questions]: Asked<Name> } = {
  explain: (workers, question) =>
    explainAmong(workers.count(), (worker, isHanded) =>
      workers.ask(worker, 'explain', question, isHanded),
    ),
  async diagnose(workers, publicKey) {
    const numbers = Array.from({ length: workers.count() }, (_, number) => number);
    const traces = numbers.map((worker) => workers.ask(worker, 'trace', publicKey));
    return joinTraces(await Promise.all(traces));
  },
  async unknownSenders(workers) {
    const senders = await workers.ask(RECEPTIONIST, 'unknownSenders');
    return senders ?? { keys: [], otherGateway: [] };
  },
  flows: (workers, query, limit, from) =>
    flowsAmong(
      workers.count(),
      ({ worker, flow }, left) => workers.ask(worker, 'flows', query, flow, left),
      limit,
      from,
    ),
  busiest: (workers, query, limit) =>
    busiestAmong(
      workers.count(),
      ({ worker, flow }) => workers.ask(worker, 'flows', { ...query, isRanked: true }, flow, limit),
      limit,
    ),
  endedFlows: (workers, query, limit, from) =>
    endedAmong(
      workers.count(),
      (worker, before, left) => workers.ask(worker, 'pastFlows', query, before, left),
      limit,
      from,
    ),
  refusals: (workers, query, limit) =>
    refusalsAmong(
      workers.count(),
      (worker, from) => workers.ask(worker, 'refusals', query, from),
      limit,
    ),
  effectOf: (workers, amendment, limit) =>
    effectAmong(
      workers.count(),
      {
        ended: (worker, change, from, left) =>
          workers.ask(worker, 'endedFlows', change, from, left),
        passed: (worker, change, from) => workers.ask(worker, 'passedRefusals', change, from),
      },
      workers.trial(amendment),
      limit,
    ),
};

/** Questions about one packet or device; the others are lists. */
const AT_ONCE: ReadonlySet<keyof Questions> = new Set(['explain', 'diagnose', 'unknownSenders']);

/** Questions to a worker whose answer is a part of a list. */
const PARTS: ReadonlySet<WorkerQuestion> = new Set([
  'flows',
  'pastFlows',
  'refusals',
  'endedFlows',
  'passedRefusals',
]);

/** Whether a question waits for a worker that is being started: a list goes on without it. */
export function waitsForWorker(name: WorkerQuestion): boolean {
  return !PARTS.has(name);
}

/** Makes what asks the gateway that has these workers. */
export function askerOf(workers: AskedWorkers): Ask {
  /** The list that is read now. */
  let listed: Promise<unknown> = Promise.resolve();
  return (name, ...asked) => {
    const read = () => questions[name](workers, ...asked);
    if (AT_ONCE.has(name)) return read();
    // One list after the other: however many are asked for, packets wait for one part at most.
    const list = listed.then(read);
    listed = list.catch(() => undefined);
    return list;
  };
}
