// Shows how far a run of tests has come: one line that changes where there is a terminal, elsewhere a
// line for each test file that ended.

import type { FileSeconds } from '../suite/seconds.ts';

/** Where the progress is shown. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write: (text: string) => unknown;
}

/** What has ended so far. */
export class Progress {
  passed = 0;
  failed = 0;
  #files = 0;
  #latest = '';
  readonly #screen: Screen;
  readonly #filesInAll: number;

  constructor(screen: Screen, filesInAll: number) {
    this.#screen = screen;
    this.#filesInAll = filesInAll;
  }

  /** A test passed. */
  pass(): void {
    this.passed++;
  }

  /** A test failed or was skipped: its name is shown at once. */
  fail(name: string): void {
    this.failed++;
    this.#say(`failed: ${name}`);
  }

  /** A test file ended. */
  endFile({ file, wall }: FileSeconds): void {
    this.#files++;
    this.#latest = file;
    if (this.#screen.isTTY !== true)
      this.#say(
        `${this.#count()} ${file} ${wall.toFixed(1)} s, ${this.passed} tests passed so far`,
      );
  }

  /** Shows the line that changes, on a terminal. */
  show(seconds: number): void {
    if (this.#screen.isTTY !== true) return;
    const time = `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
    const tests = `${this.passed} passed, ${this.failed} failed`;
    const line = `${time} ${this.#count()} files, ${tests} ${this.#latest}`;
    this.#screen.write(`\r\x1b[K${line.slice(0, (this.#screen.columns ?? 80) - 1)}`);
  }

  /** Takes the line that changes away. */
  clear(): void {
    if (this.#screen.isTTY === true) this.#screen.write('\r\x1b[K');
  }

  #count(): string {
    const all = String(this.#filesInAll);
    return `${String(this.#files).padStart(all.length)}/${all}`;
  }

  #say(line: string): void {
    this.clear();
    this.#screen.write(`${line}\n`);
  }
}
