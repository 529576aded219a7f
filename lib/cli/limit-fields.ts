// The fields of limits, as they are typed as options.

import { UsageError } from '../kit/process/usage-error.ts';
import { readMeasure } from '../kit/validation/units.ts';
import type { Hints } from './error-words.ts';
import type { Options, Outcome } from './run.ts';

/** What takes a limit away. */
const NONE = 'none';

/** What a command takes for the fields that are typed as options. */
export const LIMIT_HINTS: Hints = {
  limit_down: `--down 10000000|${NONE}`,
  limit_up: `--up 10000000|${NONE}`,
  quota: `--quota 100000000000|${NONE}`,
};

/** The limits of a device that were typed; at least one is. */
export function deviceLimits(options: Options): Record<string, unknown> {
  return typedIn(options, '--down, --up or both: bits per second');
}

/** The limits of a user that were typed; at least one is. */
export function userLimits(options: Options): Record<string, unknown> {
  return typedIn(options, '--down or --up: bits per second; or --quota: bytes in a month');
}

/** The fields that were typed. `wanted`: what to type, and what it means. */
function typedIn({ down, up, quota }: Options, wanted: string): Record<string, unknown> {
  const typed = Object.entries({ limit_down: down, limit_up: up, quota });
  const given = typed.filter(([, text]) => text !== undefined);
  if (given.length === 0) throw new UsageError(`give ${wanted}, or ${NONE}`);
  return Object.fromEntries(given.map(([name, text = '']) => [name, valueOf(name, text)]));
}

/** A text without a unit goes to the operation as it is, which says what is wrong with it. */
function valueOf(field: string, text: string): string | number | null {
  if (text === NONE) return null;
  if (!/^\s*[\d.,]+\s*[a-z]/i.test(text)) return text;
  const reading = readMeasure(text, field === 'quota' ? 'amount' : 'speed');
  if ('value' in reading) return reading.value;
  const option = field.replace('limit_', '');
  throw new UsageError(`--${option} is ${reading.error}`);
}

/** The text for limits that were written; `otherwise`: the text where there is none. */
export function limitsInWords(
  { id, limit_down, limit_up }: Readonly<Record<string, unknown>>,
  who: string,
  otherwise: string,
): Outcome & { readonly data: object } {
  const words = (limit: unknown): string =>
    limit === null ? `what ${otherwise}` : `${Number(limit)} bits per second`;
  return {
    text: `${who}: download ${words(limit_down)}, upload ${words(limit_up)}.`,
    data: { id, limit_down, limit_up },
  };
}
