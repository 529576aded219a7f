// Rows that are judged again after a change of rules or addresses, some in each turn.

import { reasons } from '../reasons.ts';

/** Rows of one turn. */
const ROWS_PER_TURN = 512;

/** Goes through the rows of a table, from 1 on. */
export class Recheck {
  readonly #rows: number;
  /** The next row; 0: none is to be judged. */
  #next = 0;

  constructor(rows: number) {
    this.#rows = rows;
  }

  /** Whether rows are left. */
  get isOn(): boolean {
    return this.#next > 0;
  }

  /** All rows are to be judged again. */
  begin(): void {
    this.#next = 1;
  }

  /** Judges the rows of one turn. */
  turn(judge: (slot: number) => void): void {
    if (this.#next === 0) return;
    const end = Math.min(this.#next + ROWS_PER_TURN, this.#rows + 1);
    for (let slot = this.#next; slot < end; slot++) judge(slot);
    this.#next = end > this.#rows ? 0 : end;
  }
}

/**
 * Whether rules refuse what a device sends. If its addresses do, it is not who would get an answer.
 */
export function isByRules(reason: number): boolean {
  return reason === reasons.rule_drop || reason === reasons.default_drop;
}
