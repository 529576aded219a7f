// A list that is shown again and again until somebody ends the command. A terminal sees one table,
// whose lines are written over; whoever reads a pipe gets a new table each time something changed.
// Node sees that the reader of a pipe has left only when it writes, so the next change ends it.

import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import type { Command, Outcome } from '../cli/run.ts';
import { isOutputLost } from '../kit/process/lost-output.ts';
import { outputOf } from './print.ts';

const LOOK_MS = 2_000;
/** Rows of a terminal that does not say how many it has. */
const ROWS = 24;

/** What is written to. */
export interface Shows {
  readonly isTTY?: boolean;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

/** How often is looked, and what ends it besides signals. */
interface Watching {
  readonly lookMs?: number;
  readonly ending?: AbortController;
}

/**
 * Shows what a command comes to, until a signal or the reader ends it; resolves to the exit code.
 */
export async function watch(
  look: () => Promise<Outcome>,
  options: Command['options'],
  output: Shows = process.stdout,
  { lookMs = LOOK_MS, ending = new AbortController() }: Watching = {},
): Promise<number> {
  const end = (): void => ending.abort();
  const show =
    output.isTTY === true && !options.json
      ? new Drawing(output)
      : new Printing(output, options.json);
  let last: Outcome | null = null;
  const redraw = (): void => {
    if (last !== null) void outputOf(last, options).then((text) => show.again(text));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  output.on('resize', redraw);
  try {
    while (!ending.signal.aborted && !isOutputLost()) {
      last = await look();
      show.next(await outputOf(last, options));
      await setTimeout(lookMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  } finally {
    output.off('resize', redraw);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end);
  }
  show.end();
  return 0;
}

/** For a reader who is no terminal. */
class Printing {
  readonly #output: Shows;
  readonly #between: string;
  #last: string | null = null;

  constructor(output: Shows, isJson: boolean) {
    this.#output = output;
    // JSON is a line each time; tables have an empty line between them.
    this.#between = isJson ? '' : '\n';
  }

  next(text: string): void {
    if (text === this.#last) return;
    this.#output.write(this.#last === null ? text : `${this.#between}${text}`);
    this.#last = text;
  }

  again(): void {}

  end(): void {}
}

/** For a terminal: the lines that were written last are written over, by one write. */
class Drawing {
  readonly #output: Shows;
  #last: string | null = null;
  #lines = 0;

  constructor(output: Shows) {
    this.#output = output;
  }

  next(text: string): void {
    if (text === this.#last) return;
    const up = this.#lines === 0 ? '' : `\u001B[${this.#lines}A\r`;
    this.#draw(text, up);
  }

  /** The terminal has another size: what is on it may have been broken into other lines. */
  again(text: string): void {
    this.#draw(text, '\u001B[H\u001B[2J');
  }

  /** The shell begins below the table, not behind the `^C` of the terminal. */
  end(): void {
    this.#output.write('\n');
  }

  #draw(text: string, before: string): void {
    const rows = Math.max(2, this.#output.rows ?? ROWS);
    const all = text.replace(/\n$/, '').split('\n');
    // The cursor is below the last line, so one row is left for it.
    const shown =
      all.length < rows
        ? all
        : [...all.slice(0, rows - 2), `… ${all.length - rows + 2} lines more`];
    // A line that is too long is cut by the terminal: broken into two, it would move the others.
    const lines = shown.map((line) => `${line}\u001B[K\n`).join('');
    this.#output.write(`${before}\u001B[?7l${lines}\u001B[J\u001B[?7h`);
    this.#last = text;
    this.#lines = shown.length;
  }
}
