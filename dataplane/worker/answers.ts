// The questions that a worker is asked, and its answers: its pipeline has a method for each. A long
// answer is given in parts: each question asks for one, and packets have their turn between two.
// Asking changes nothing.

import type { Pipeline } from './pipeline.ts';

/** The questions, by their methods. */
const questions = [
  'explain',
  'trace',
  'unknownSenders',
  'flows',
  'pastFlows',
  'refusals',
  'endedFlows',
  'passedRefusals',
] as const satisfies readonly (keyof Pipeline)[];

/** The name of a question to a worker. */
export type WorkerQuestion = (typeof questions)[number];

/** What is asked: what the method takes, without the two times at its end. */
export type AskedOf<Name extends WorkerQuestion> =
  Parameters<Pipeline[Name]> extends [...infer Asked, number, number] ? Asked : [];

/** What is answered. */
export type AnswerTo<Name extends WorkerQuestion> = ReturnType<Pipeline[Name]>;

/** A question on its way to a worker. */
export interface QuestionCommand {
  readonly type: 'ask';
  readonly id: number;
  readonly name: WorkerQuestion;
  readonly asked: readonly unknown[];
}

/** The answer on its way back. */
export interface Answer {
  readonly type: 'answer';
  readonly id: number;
  readonly answer: unknown;
}

/** Answers a question. */
export function answer<Name extends WorkerQuestion>(
  pipeline: Pipeline,
  name: Name,
  asked: AskedOf<Name>,
  now: number,
  wallMs: number,
): AnswerTo<Name> {
  const method = pipeline[name] as (...given: readonly unknown[]) => AnswerTo<Name>;
  return method.call(pipeline, ...asked, now, wallMs);
}
