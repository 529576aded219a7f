// The questions that a worker is asked, and its answers. A long answer is given in parts: each
// question asks for one, and packets have their turn between two. Asking changes nothing.

import type { TriedChange } from './diff.ts';
import type { EndedFlow } from './path/ended-list.ts';
import type { Explanation, Question } from './path/explain.ts';
import type { EndedPart, FlowQuery, LiveFlow } from './path/flow-list.ts';
import type { Listed } from './path/listed.ts';
import type { RefusalQuery, SeenRefusal } from './path/refusal-list.ts';
import type { Pipeline } from './pipeline.ts';
import type { TracePart } from './wireguard/trace.ts';
import type { UnknownSenders } from './wireguard/unknown-senders.ts';

/** Questions about what the worker knows. */
export type QuestionCommand =
  | {
      readonly type: 'explain';
      readonly id: number;
      readonly question: Question;
      readonly isHanded: boolean;
    }
  | { readonly type: 'diagnose'; readonly id: number; readonly publicKey: string }
  | { readonly type: 'unknownSenders'; readonly id: number }
  | {
      /** A part of the list of flows: at most `limit`, from the flow of that number on. */
      readonly type: 'flows';
      readonly id: number;
      readonly query: FlowQuery;
      readonly from: number;
      readonly limit: number;
    }
  | {
      /** A part of the list of ended flows: at most `limit`, from the one before a number on. */
      readonly type: 'pastFlows';
      readonly id: number;
      readonly query: FlowQuery;
      readonly before: number;
      readonly limit: number;
    }
  | {
      /** A part of the list of refused packets, from the record of that number on. */
      readonly type: 'refusals';
      readonly id: number;
      readonly query: RefusalQuery;
      readonly from: number;
    }
  | {
      /** A part of the flows that a change would end, of which at most `limit` are listed. */
      readonly type: 'endedFlows';
      readonly id: number;
      readonly change: TriedChange;
      readonly from: number;
      readonly limit: number;
    }
  | {
      /** A part of the refused packets that would pass after a change. */
      readonly type: 'passedRefusals';
      readonly id: number;
      readonly change: TriedChange;
      readonly from: number;
    };

/** What a worker answers. */
export type Answer =
  | {
      readonly type: 'explained';
      readonly id: number;
      /** Null: another worker judges the packet. */
      readonly explanation: Explanation | null;
    }
  | { readonly type: 'diagnosed'; readonly id: number; readonly trace: TracePart | null }
  | { readonly type: 'unknownSenders'; readonly id: number; readonly senders: UnknownSenders }
  | { readonly type: 'flows'; readonly id: number; readonly part: Listed<LiveFlow> }
  | { readonly type: 'pastFlows'; readonly id: number; readonly part: Listed<EndedFlow> }
  | { readonly type: 'refusals'; readonly id: number; readonly part: Listed<SeenRefusal> }
  | { readonly type: 'endedFlows'; readonly id: number; readonly part: EndedPart }
  | { readonly type: 'passedRefusals'; readonly id: number; readonly part: Listed<SeenRefusal> };

/** Answers a question. */
export function answer(
  pipeline: Pipeline,
  command: QuestionCommand,
  now: number,
  wallMs: number,
): Answer {
  const { id } = command;
  switch (command.type) {
    case 'explain': {
      const { question, isHanded } = command;
      return {
        type: 'explained',
        id,
        explanation: pipeline.explain(question, isHanded, now, wallMs),
      };
    }
    case 'diagnose':
      return { type: 'diagnosed', id, trace: pipeline.trace(command.publicKey, now, wallMs) };
    case 'unknownSenders':
      return { type: 'unknownSenders', id, senders: pipeline.unknownSenders() };
    case 'flows': {
      const { query, from, limit } = command;
      return { type: 'flows', id, part: pipeline.flows(query, from, limit, now, wallMs) };
    }
    case 'pastFlows': {
      const { query, before, limit } = command;
      return { type: 'pastFlows', id, part: pipeline.pastFlows(query, before, limit, now, wallMs) };
    }
    case 'refusals': {
      const { query, from } = command;
      return { type: 'refusals', id, part: pipeline.refusals(query, from, now, wallMs) };
    }
    case 'endedFlows': {
      const { change, from, limit } = command;
      return {
        type: 'endedFlows',
        id,
        part: pipeline.endedFlows(change, from, limit, now, wallMs),
      };
    }
    case 'passedRefusals': {
      const { change, from } = command;
      return {
        type: 'passedRefusals',
        id,
        part: pipeline.passedRefusals(change, from, now, wallMs),
      };
    }
  }
}
