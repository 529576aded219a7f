// Which time a history is about, and in which steps: the parameters, and what is meant without
// them. docs/api.md#history.

import { KEPT_S, type Step, STEPS } from '../../../models/index.ts';
import { choice, integer, mark, moment, resource } from '../../kit/validation/fields.ts';
import { messages } from '../../kit/validation/messages.ts';
import { addError, type Errors } from '../../kit/validation/validate.ts';

/** The most points of an answer; ten years of days. */
export const POINTS_MAX = 4_000;
const DAY_S = 86_400;

/** What a question about a history may hold. */
export const spanFields = {
  from: moment('Where it begins, RFC 3339; a day before `to` if it is left out.'),
  to: moment('Where it ends, RFC 3339; now if it is left out.'),
  step: mark(
    integer(
      'Seconds of one point: 600, 3600 or 86400; left out: the shortest that is kept since `from`.',
      0,
      Number.MAX_SAFE_INTEGER,
    ).custom(
      (value: number, helpers) =>
        STEPS.includes(value as Step) ? value : helpers.error('step.bad'),
      'step',
    ),
    {
      unreadable: messages.badStep,
      json: { minimum: STEPS[0], maximum: STEPS[2], enum: [...STEPS] },
    },
  ),
};

/** How a history is answered. */
export const formatField = choice(
  'How it is answered; left out: as `Accept` says, else JSON.',
  'json',
  'csv',
);

/** The parameters of a history. */
export const historyParameters = resource({ ...spanFields, format: formatField });

/** What was sent, once it is validated. */
export interface SpanValues {
  readonly from?: Date;
  readonly to?: Date;
  readonly step?: Step;
  readonly format?: 'json' | 'csv';
}

/** A time in whole steps, Unix time in seconds: `from` included, `to` not. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly step: Step;
}

/** Finds the span that is meant, or adds what is wrong with it to the errors. */
export function spanOf({ from, to, step }: SpanValues, now: Date, errors: Errors): Span | null {
  if (Object.keys(errors).length > 0) return null;
  const nowS = Math.floor(now.getTime() / 1_000);
  // Nothing is known of the future.
  const end = Math.min(seconds(to) ?? nowS, nowS);
  const start = seconds(from) ?? end - DAY_S;
  const shortest = shortestSince(start, nowS);
  const chosen = step ?? shortest;
  const span = { from: floor(start, chosen), to: floor(end + chosen - 1, chosen), step: chosen };
  const points = (span.to - span.from) / chosen;
  if (start >= end) addError(errors, 'from', messages.fromNotBeforeTo);
  else if (start < 0) addError(errors, 'from', messages.fromTooEarly);
  else if (chosen < shortest)
    addError(errors, 'step', { code: 'stepTooShort', values: { least: shortest } });
  else if (points > POINTS_MAX)
    addError(errors, 'from', { code: 'tooManyPoints', values: { most: POINTS_MAX } });
  return Object.keys(errors).length > 0 ? null : span;
}

/** The beginnings of all steps of a span. */
export function startsOf({
  from,
  to,
  step,
}: Readonly<Record<'from' | 'to' | 'step', number>>): number[] {
  return Array.from({ length: (to - from) / step }, (_, i) => from + i * step);
}

/** The shortest step whose sums are all kept since a time; models/queries/roll-up.ts. */
function shortestSince(start: number, nowS: number): Step {
  const kept = ([600, 3_600] as const).find((step, i) => {
    const into = STEPS[i + 1] ?? step;
    return start >= floor(nowS - KEPT_S[step], into);
  });
  return kept ?? 86_400;
}

function floor(time: number, step: number): number {
  return Math.floor(time / step) * step;
}

function seconds(time: Date | undefined): number | undefined {
  return time === undefined ? undefined : Math.floor(time.getTime() / 1_000);
}
