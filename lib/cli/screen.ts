// What a command prints at a terminal: tables that fit its width, times from now, colours.
// A pipe and `--json` get whole values, without a colour.

import { stripVTControlCharacters, styleText } from 'node:util';
import { bytesInWords } from '../kit/validation/units.ts';
import { shortId } from './naming.ts';
import type { Outcome } from './run.ts';
import {
  type Column,
  printable,
  printableText,
  type Screen,
  secondOf,
  table,
} from './text-table.ts';

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

/** What a pipe and a terminal get. */
export type Listed = Pick<Outcome, 'text' | 'onScreen'>;

/** A list: whole in a pipe, and as it fits the terminal. */
export function listed(
  kinds: readonly (readonly [label: string, kind: Column['kind']])[],
  rows: readonly (readonly string[])[],
): Listed {
  const columns = kinds.map(([label, kind]) => ({ label, kind }));
  return {
    text: table(
      kinds.map(([label]) => label),
      rows,
    ),
    onScreen: (screen) => screenTable(screen, columns, rows),
  };
}

/** Sentences and lists, one below the other. */
export function below(...parts: readonly (string | Listed)[]): Listed {
  const lists = parts.map((part) => (typeof part === 'string' ? { text: part } : part));
  const onOne = ({ text, onScreen }: Listed, screen: Screen): string =>
    onScreen?.(screen) ?? printableText(text);
  return {
    text: lists.map(({ text }) => text).join('\n'),
    onScreen: (screen) => lists.map((one) => onOne(one, screen)).join('\n'),
  };
}

type Rows = readonly (readonly string[])[];

/** A table that fits a terminal: columns that have no room are on further lines of each row. */
export function screenTable(screen: Screen, columns: readonly Column[], rows: Rows): string {
  const whole = rows.map((cells) =>
    columns.map(({ kind }, at) => valueFor(screen, kind, printable(cells[at] ?? ''))),
  );
  const { cells, lines, widths } = fitted(screen, columns, whole);
  const head = columns.map(({ label }, at) => {
    const text = cut(screen, label.toUpperCase(), widths[at]);
    return styled(screen, 'bold', padded(screen, text, widths[at]));
  });
  const body = cells.map((row) =>
    columns.map(({ kind }, at) => {
      const text = padded(screen, cutCell(screen, kind, row[at] ?? '', widths[at]), widths[at]);
      return kind === 'state' ? styled(screen, colourOf(text.trim()), text) : text;
    }),
  );
  return [head, ...body]
    .flatMap((row) => lines.map((ats) => ats.map((at) => row[at] ?? '').join(GAP)))
    .map((line, i) => withoutEnd(i % lines.length === 0 ? line : GAP + line))
    .join('\n');
}

/** Spaces at the end, also those before the end of a colour. */
function withoutEnd(line: string): string {
  return stripVTControlCharacters(line) === line ? line.trimEnd() : line;
}

function valueFor({ nowMs }: Screen, kind: Column['kind'], value: string): string {
  if (kind === 'time') return timeInWords(value, nowMs);
  if (kind !== 'bytes') return value;
  return value.replace(/^\d+$|\d+ B\b/, (bytes) => bytesInWords(Number.parseInt(bytes, 10)));
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

const ID = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/gi;

/** Ids by their ends, where each is still another one. */
function withShortIds(columns: readonly Column[], rows: Rows): Rows {
  const shortens = columns.map(({ kind }, at) => {
    const found = rows.flatMap((cells) => (cells[at] ?? '').match(ID) ?? []);
    const isTold = new Set(found.map(shortId)).size === new Set(found).size;
    return (kind === 'id' || kind === 'place') && isTold;
  });
  if (!shortens.includes(true)) return rows;
  return rows.map((cells) =>
    cells.map((cell, at) => (shortens[at] === true ? cell.replaceAll(ID, shortId) : cell)),
  );
}

/** A table that fits: its cells, the columns on each line of a row, and their widths. */
interface Fitted {
  readonly cells: Rows;
  readonly lines: readonly (readonly number[])[];
  readonly widths: readonly number[];
}

function fitted(screen: Screen, columns: readonly Column[], whole: Rows): Fitted {
  const wide = widthsOf(screen, columns, whole);
  const all = columns.map((_, at) => at);
  if (widthWith(wide) <= screen.width) return { cells: whole, lines: [all], widths: wide };
  const cells = withShortIds(columns, whole);
  const widths = cells === whole ? [...wide] : widthsOf(screen, columns, cells);
  const least = columns.map(({ kind }, at) => {
    const column = cells.map((row) => row[at] ?? '');
    return Math.min(widths[at] ?? 0, leastOf(screen, kind, column));
  });
  const lines = dividedInto(screen.width, least);
  const isTime = (at: number): boolean => columns[at]?.kind === 'time';
  for (const [i, ats] of lines.entries()) {
    const most = screen.width - (i === 0 ? 0 : GAP.length);
    shrink(widths, { ats, least, most, isTime });
  }
  return { cells, lines, widths };
}

function widthWith(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
}

function widthsOf({ widthOf }: Screen, columns: readonly Column[], rows: Rows): number[] {
  return columns.map(({ label }, at) =>
    rows.reduce((widest, cells) => Math.max(widest, widthOf(cells[at] ?? '')), label.length),
  );
}

/** The least width of a column: texts and the label of a time may be cut. */
function leastOf({ widthOf }: Screen, kind: Column['kind'], cells: readonly string[]): number {
  if (kind === 'text' || kind === 'place')
    return LEAST + Math.max(0, ...cells.map((cell) => widthOf(fixedEnd(kind, cell))));
  return kind === 'time'
    ? Math.max(TIME_LEAST, ...cells.map((cell) => widthOf(cell)))
    : Number.POSITIVE_INFINITY;
}

/** Columns on lines that are no wider than they must be; a further line begins with a gap. */
function dividedInto(width: number, least: readonly number[]): number[][] {
  const lines: number[][] = [];
  let left = -1;
  for (const [at, own] of least.entries()) {
    left -= GAP.length + own;
    if (left >= 0) lines.at(-1)?.push(at);
    else {
      left = width - own - (lines.length === 0 ? 0 : GAP.length);
      lines.push([at]);
    }
  }
  return lines;
}

/** What a line may take of its columns. */
interface Line {
  readonly ats: readonly number[];
  readonly least: readonly number[];
  readonly most: number;
  readonly isTime: (at: number) => boolean;
}

/** Takes from the label of a time, then from the widest text, until the line fits if it can. */
function shrink(widths: number[], { ats, least, most, isTime }: Line): void {
  for (let over = widthWith(ats.map((at) => widths[at] ?? 0)) - most; over > 0; over -= 1) {
    const cuttable = ats.filter((at) => (widths[at] ?? 0) > (least[at] ?? 0));
    const [widest] = cuttable.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    const taken = cuttable.find(isTime) ?? widest;
    if (taken === undefined) return;
    widths[taken] = (widths[taken] ?? 0) - 1;
  }
}

/** The address or the id at the end of a cell, which is never cut. */
function fixedEnd(kind: Column['kind'], cell: string): string {
  if (kind !== 'place') return '';
  return / (?:\([\da-f-]+\)|\S*[\d:]\S*)$/.exec(cell)?.[0] ?? '';
}

function cutCell(screen: Screen, kind: Column['kind'], cell: string, width = 0): string {
  if (screen.widthOf(cell) <= width) return cell;
  const end = fixedEnd(kind, cell);
  const before = cell.slice(0, cell.length - end.length);
  return cut(screen, before, width - screen.widthOf(end)) + end;
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
  if (/^(off|ended|disabled|drop|fail|lost|not )|\b(locked|over)\b/.test(state)) return 'red';
  if (/^(on|enabled|accept|passes|up to date|online)\b/.test(state)) return 'green';
  return /^(behind|staged|from|ends|waiting|warning)/.test(state) ? 'yellow' : null;
}
