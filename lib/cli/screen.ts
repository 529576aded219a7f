// What a command prints at a terminal: tables that fit its width, times from now, colours.
// A pipe and `--json` get whole values, without a colour.

import { stripVTControlCharacters, styleText } from 'node:util';
import { shortId } from './naming.ts';
import type { Outcome } from './run.ts';
import { type Column, printable, type Screen, secondOf, table } from './text-table.ts';

/** A terminal, as far as it is described. */
interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly hasColors?: () => boolean;
}

/** The terminal that is printed to; null: none, or one that does not say how wide it is. */
export async function screenOf(terminal: Terminal): Promise<Screen | null> {
  if (terminal.isTTY !== true || !(Number(terminal.columns) > 0)) return null;
  const { default: widthOf } = await import('string-width');
  const isColoured = terminal.hasColors?.() === true;
  return { width: Number(terminal.columns), isColoured, widthOf, nowMs: Date.now() };
}

const GAP = '  ';
/** So much of a text is left at least. */
const LEAST = 8;
const CUT = '…';
/** The longest time in words; a longer label of times is cut. */
const TIME_LEAST = 10;

/** A list: whole in a pipe, and as it fits the terminal. */
export function listed(
  kinds: readonly (readonly [label: string, kind: Column['kind']])[],
  rows: readonly (readonly string[])[],
): Pick<Outcome, 'text' | 'onScreen'> {
  const columns = kinds.map(([label, kind]) => ({ label, kind }));
  return {
    text: table(
      kinds.map(([label]) => label),
      rows,
    ),
    onScreen: (screen) => screenTable(screen, columns, rows),
  };
}

/** A table that fits a terminal, as far as what may be cut allows it. */
export function screenTable(
  screen: Screen,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string {
  const whole = rows.map((cells) =>
    columns.map(({ kind }, at) => valueFor(screen, kind, printable(cells[at] ?? ''))),
  );
  const fitting = isWithin(screen, columns, whole) ? whole : withShortIds(columns, whole);
  const widths = fittedWidths(screen, columns, fitting);
  const head = columns.map(({ label }, at) =>
    styled(
      screen,
      'bold',
      padded(screen, cut(screen, label.toUpperCase(), widths[at]), widths[at]),
    ),
  );
  const lines = fitting.map((cells) =>
    columns.map(({ kind }, at) => {
      const text = padded(screen, cut(screen, cells[at] ?? '', widths[at]), widths[at]);
      return kind === 'state' ? styled(screen, colourOf(text.trim()), text) : text;
    }),
  );
  return [head, ...lines].map((cells) => withoutEnd(cells.join(GAP))).join('\n');
}

/** Spaces at the end, also those before the end of a colour. */
function withoutEnd(line: string): string {
  return stripVTControlCharacters(line) === line ? line.trimEnd() : line;
}

function valueFor({ nowMs }: Screen, kind: Column['kind'], value: string): string {
  if (kind === 'time') return timeInWords(value, nowMs);
  return value;
}

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

/** `3 min ago`, `in 5 d`; another text stays, and so does a time that is far from now. */
export function timeInWords(text: string, nowMs: number): string {
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) return text;
  const seconds = Math.round(Math.abs(nowMs - time) / 1_000);
  if (seconds > 99 * 86_400) return secondOf(text).slice(0, 10);
  const [size, unit] = UNITS.find(([one]) => seconds >= one) ?? [1, 's'];
  const words = `${Math.floor(seconds / size)} ${unit}`;
  return time > nowMs ? `in ${words}` : `${words} ago`;
}

/** Ids by their ends, where each is still another one. */
function withShortIds(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  const at = columns.findIndex(({ kind }) => kind === 'id');
  const ends = rows.map((cells) => shortId(cells[at] ?? ''));
  if (at === -1 || new Set(ends).size !== rows.length) return rows;
  return rows.map((cells, i) => cells.with(at, ends[i] ?? ''));
}

function isWithin(
  screen: Screen,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): boolean {
  return widthWith(widthsOf(screen, columns, rows)) <= screen.width;
}

function widthWith(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
}

function widthsOf(
  { widthOf }: Screen,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  timeLabelMost = Number.POSITIVE_INFINITY,
): number[] {
  return columns.map(({ label, kind }, at) =>
    rows.reduce(
      (widest, cells) => Math.max(widest, widthOf(cells[at] ?? '')),
      kind === 'time' ? Math.min(label.length, timeLabelMost) : label.length,
    ),
  );
}

/** Takes from the widest text until the table fits, or no text may be cut further. */
function fittedWidths(
  screen: Screen,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): number[] {
  const wished = widthsOf(screen, columns, rows);
  if (widthWith(wished) <= screen.width) return wished;
  const widths = widthsOf(screen, columns, rows, TIME_LEAST);
  const texts = columns.flatMap(({ kind }, at) => (kind === 'text' ? [at] : []));
  for (let over = widthWith(widths) - screen.width; over > 0; over -= 1) {
    const [widest = -1] = texts.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    const width = widths[widest] ?? 0;
    if (width <= LEAST) break;
    widths[widest] = width - 1;
  }
  return widths;
}

function cut({ widthOf }: Screen, text: string, width = 0): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (widthOf(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}${CUT}`;
}

function padded({ widthOf }: Screen, text: string, width = 0): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

type Style = Parameters<typeof styleText>[0];

function styled({ isColoured }: Screen, style: Style | null, text: string): string {
  return isColoured && style !== null ? styleText(style, text, { validateStream: false }) : text;
}

/** States that need a person, and those that are well. */
function colourOf(state: string): Style | null {
  if (/^(off|ended|disabled|drop|fails|lost|not )|\b(locked|over)\b/.test(state)) return 'red';
  if (/^(on|enabled|accept|passes|up to date|online)\b/.test(state)) return 'green';
  return /^(behind|staged|from|ends|waiting)/.test(state) ? 'yellow' : null;
}
