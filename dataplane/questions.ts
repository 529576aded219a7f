// Questions about what the workers of a gateway know: what becomes of a packet, what they remember
// of handshakes, live flows, refused packets. Asking changes nothing.

import { type AskedForEffect, type ChangeEffect, effectAmong } from './path/effect.ts';
import { endedAmong, type EndedPage, type EndedPlace } from './path/ended-list.ts';
import { explainAmong, type Explanation, type Question } from './path/explain.ts';
import { type FlowPage, type FlowPlace, type FlowQuery, flowsAmong } from './path/flow-list.ts';
import { type RefusalQuery, refusalsAmong, type SeenRefusal } from './path/refusal-list.ts';
import type { Answer, QuestionCommand } from './answers.ts';
import type { Amendment } from './contract.ts';
import type { TriedChange } from './diff.ts';
import { RECEPTIONIST } from './wireguard/steering.ts';
import { joinTraces, type Trace } from './wireguard/trace.ts';
import type { UnknownSenders } from './wireguard/unknown-senders.ts';

/** What a gateway can be asked. */
export interface Questions {
  /**
   * Explains what would become of a packet now, and changes nothing. Null while no worker can say
   * it, for example because the device is not served.
   */
  explain(question: Question): Promise<Explanation | null>;
  /**
   * What is remembered of the last handshakes of a device, and of what came through its tunnel.
   * Null: it is not served.
   */
  diagnose(publicKey: string): Promise<Trace | null>;
  /**
   * Who sent initiations that no device can have sent: with a key that nobody has, or made for the
   * key of another gateway. A part of them, where there were many.
   */
  unknownSenders(): Promise<UnknownSenders>;
  /**
   * A page of at most `limit` flows that are alive now. Their order means nothing. A flow that is
   * alive all the time is on exactly one page.
   */
  flows(query: FlowQuery, limit: number, from: FlowPlace | null): Promise<FlowPage>;
  /** A page of at most `limit` flows that have ended; the one that ended last is first. */
  endedFlows(query: FlowQuery, limit: number, from: EndedPlace | null): Promise<EndedPage>;
  /** The latest `limit` kinds of refused packets, the latest one first. */
  refusals(query: RefusalQuery, limit: number): Promise<readonly SeenRefusal[]>;
  /**
   * What a change would do to the flows and to the packets of now, if it were put in force. At most
   * `limit` of each are listed, all are counted.
   */
  effectOf(amendment: Amendment, limit: number): Promise<ChangeEffect>;
}

/** Asks the workers of a gateway. */
export abstract class AskedWorkers implements Questions {
  /** The list that is read now. */
  #listed: Promise<unknown> = Promise.resolve();

  /** How many workers there are. */
  protected abstract workers(): number;

  /**
   * Sends a command to a worker. A worker that is being started answers when it is ready where the
   * caller `waits`; else null comes at once. Rejects when the gateway is closed.
   */
  protected abstract request(
    worker: number,
    command: (id: number) => QuestionCommand,
    waits: boolean,
  ): Promise<Answer | null>;

  /** What an amendment would change of what is in force, at the moment of each call. */
  protected abstract tried(amendment: Amendment): () => TriedChange;

  explain(question: Question): Promise<Explanation | null> {
    return explainAmong(this.workers(), async (worker, isHanded) => {
      const ask = (id: number) => ({ type: 'explain', id, question, isHanded }) as const;
      const report = await this.request(worker, ask, true);
      return report?.type === 'explained' ? report.explanation : null;
    });
  }

  async diagnose(publicKey: string): Promise<Trace | null> {
    const ask = (id: number) => ({ type: 'diagnose', id, publicKey }) as const;
    const numbers = Array.from({ length: this.workers() }, (_, number) => number);
    const reports = await Promise.all(numbers.map((worker) => this.request(worker, ask, true)));
    return joinTraces(
      reports.map((report) => (report?.type === 'diagnosed' ? report.trace : null)),
    );
  }

  async unknownSenders(): Promise<UnknownSenders> {
    const ask = (id: number) => ({ type: 'unknownSenders', id }) as const;
    const report = await this.request(RECEPTIONIST, ask, true);
    return report?.type === 'unknownSenders' ? report.senders : { keys: [], otherGateway: [] };
  }

  flows(query: FlowQuery, limit: number, from: FlowPlace | null): Promise<FlowPage> {
    const part = async ({ worker, flow }: FlowPlace, left: number) => {
      const wanted = { query, from: flow, limit: left } as const;
      const ask = (id: number) => ({ type: 'flows', id, ...wanted }) as const;
      const report = await this.request(worker, ask, false);
      return report?.type === 'flows' ? report.part : null;
    };
    return this.#list(() => flowsAmong(this.workers(), part, limit, from));
  }

  endedFlows(query: FlowQuery, limit: number, from: EndedPlace | null): Promise<EndedPage> {
    const part = async (worker: number, before: number, left: number) => {
      const wanted = { query, before, limit: left } as const;
      const ask = (id: number) => ({ type: 'pastFlows', id, ...wanted }) as const;
      const report = await this.request(worker, ask, false);
      return report?.type === 'pastFlows' ? report.part : null;
    };
    return this.#list(() => endedAmong(this.workers(), part, limit, from));
  }

  refusals(query: RefusalQuery, limit: number): Promise<readonly SeenRefusal[]> {
    const part = async (worker: number, from: number) => {
      const ask = (id: number) => ({ type: 'refusals', id, query, from }) as const;
      const report = await this.request(worker, ask, false);
      return report?.type === 'refusals' ? report.part : null;
    };
    return this.#list(() => refusalsAmong(this.workers(), part, limit));
  }

  async effectOf(amendment: Amendment, limit: number): Promise<ChangeEffect> {
    const tried = this.tried(amendment);
    const ask: AskedForEffect = {
      ended: async (worker, change, from, left) => {
        const wanted = { change, from, limit: left } as const;
        const of = (id: number) => ({ type: 'endedFlows', id, ...wanted }) as const;
        const report = await this.request(worker, of, false);
        return report?.type === 'endedFlows' ? report.part : null;
      },
      passed: async (worker, change, from) => {
        const of = (id: number) => ({ type: 'passedRefusals', id, change, from }) as const;
        const report = await this.request(worker, of, false);
        return report?.type === 'passedRefusals' ? report.part : null;
      },
    };
    return this.#list(() => effectAmong(this.workers(), ask, tried, limit));
  }

  /** One list after the other: however many are asked for, packets wait for one part at most. */
  #list<T>(read: () => Promise<T>): Promise<T> {
    const list = this.#listed.then(read);
    this.#listed = list.catch(() => undefined);
    return list;
  }
}
