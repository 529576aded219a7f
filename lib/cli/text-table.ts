// Tables for a terminal: a line of labels, then a line for each row, in columns.

/**
 * A column. At a terminal a text may be cut, of a place the text before an address or an id, a time
 * is shown as how long ago it was, bytes in a unit that fits them, and a state in its colour; an id
 * is shown by its end where the table is too wide.
 */
export interface Column {
  readonly label: string;
  readonly kind: 'fixed' | 'text' | 'place' | 'id' | 'time' | 'bytes' | 'state';
}

/** A terminal. */
export interface Screen {
  /** Columns of letters. */
  readonly width: number;
  readonly isColoured: boolean;
  /** How many columns a text takes. */
  readonly widthOf: (text: string) => number;
  readonly nowMs: number;
}

/** Spaces between columns. */
const GAP = 2;

/** What steers a terminal, or breaks a line. */
const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * Rows under their labels. Control characters are replaced, because users write the cells and a
 * terminal would obey them.
 */
export function table(labels: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [labels.map((label) => label.toUpperCase()), ...rows].map((cells) =>
    cells.map(printable),
  );
  const widths = labels.map((_, column) =>
    lines.reduce((widest, cells) => Math.max(widest, (cells[column] ?? '').length), 0),
  );
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd((widths[column] ?? 0) + GAP))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

/** A cell in which control characters are replaced. */
export function printable(cell: string): string {
  return cell.replaceAll(STEERING, ' ');
}

/** A text of lines in which all other control characters are replaced; tabs stay. */
export function printableText(text: string): string {
  return text.replaceAll(STEERING, (character, at: number) =>
    /^(?:[\n\t]|\r\n)/.test(text.slice(at, at + 2)) ? character : ' ',
  );
}

/** A time of the API without its fraction. */
export function secondOf(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}
