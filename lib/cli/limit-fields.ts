// The fields of limits, as they are typed as options.

import { UsageError } from '../kit/process/usage-error.ts';
import { type Measure, measureText, readMeasure } from '../kit/validation/units.ts';
import type { Hints } from './error-words.ts';
import type { Options, Outcome } from './run.ts';
import { printable } from './text-table.ts';

/** What takes a limit away. */
const NONE = 'none';

/** What a command takes for the fields that are typed as options. */
export const LIMIT_HINTS: Hints = {
  limit_down: `--down 50Mbit/s|${NONE}`,
  limit_up: `--up 50Mbit/s|${NONE}`,
  quota: `--quota 100GB|${NONE}`,
};

/** The limits of a device that were typed; at least one is. */
export function deviceLimits(options: Options): Record<string, unknown> {
  return typedIn(options, '--down, --up or both: 50Mbit/s');
}

/** The limits of a user that were typed; at least one is. */
export function userLimits(options: Options): Record<string, unknown> {
  return typedIn(options, '--down or --up: 50Mbit/s; or --quota: 100GB in a month');
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
  // A shell would take a space for the end of the value.
  const advice = reading.error.replaceAll(/(\d) (?=[kMGT]?(?:bit\/s|B)\b)/g, '$1');
  throw new UsageError(`--${option} is ${advice}`);
}

type Answer = Readonly<Record<string, unknown>>;

/** Says limits that were written: plain numbers in a pipe, at a terminal as people type them. */
export function limitsSaid(text: (inWords: InWords) => string): Pick<Outcome, 'text' | 'onScreen'> {
  const plain: InWords = (value, measure) => `${value} ${PLAIN[measure]}`;
  return { text: text(plain), onScreen: () => printable(text(measureText)) };
}

/** Puts a limit into words. */
type InWords = (value: number, measure: Measure) => string;
const PLAIN: Readonly<Record<Measure, string>> = { speed: 'bits per second', amount: 'bytes' };

/** The sentence of speeds that were written; `otherwise`: what decides where there is none. */
export function speedsInWords(
  { limit_down, limit_up }: Answer,
  who: string,
  otherwise: string,
  inWords: InWords,
): string {
  const words = (limit: unknown): string =>
    limit === null ? `what ${otherwise}` : inWords(Number(limit), 'speed');
  return `${who}: download ${words(limit_down)}, upload ${words(limit_up)}.`;
}

/** What programs read of speeds. */
export function speedsOf({ id, limit_down, limit_up }: Answer): object {
  return { id, limit_down, limit_up };
}
