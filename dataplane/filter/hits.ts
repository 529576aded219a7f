// Counts the hits of the rules of one scope since the last sample, by rule number. A number can
// move to another rule; hits before that are reported for the rule that had it.

import type { RuleSample } from '../contract.ts';

/** Fields of a rule: packets, bytes, Unix time in ms of the last hit. */
const FIELDS = 3;

/** Hits of the rules of one scope. */
export class Hits {
  #ids: (string | null)[] = [];
  #fields = new Float64Array(0);

  /**
   * Counts a packet. The time is passed in an array, because V8 may allocate a number that is
   * passed.
   */
  count(rule: number, bytes: number, wallMs: Float64Array): void {
    const at = rule * FIELDS;
    this.#fields[at]! += 1;
    this.#fields[at + 1]! += bytes;
    this.#fields[at + 2] = wallMs[0]!;
  }

  /**
   * Gives a number to a rule, or to no rule. Returns the hits of the rule that had the number
   * before; null: no rule had it.
   */
  rename(rule: number, id: string | null): RuleSample | null {
    const hits = this.#takeOf(rule);
    while (this.#ids.length <= rule) this.#ids.push(null);
    this.#ids[rule] = id;
    if (this.#fields.length < this.#ids.length * FIELDS) this.#grow();
    return hits;
  }

  /** The id of the rule that has a number; null: none has it. */
  idOf(rule: number): string | null {
    return this.#ids[rule] ?? null;
  }

  /** Yields the hits of each rule and sets them to zero; null for a rule without hits. */
  *take(): Generator<RuleSample | null> {
    for (let rule = 0; rule < this.#ids.length; rule++) yield this.#takeOf(rule);
  }

  #takeOf(rule: number): RuleSample | null {
    const id = this.#ids[rule] ?? null;
    const fields = this.#fields;
    const at = rule * FIELDS;
    const packets = fields[at]!;
    if (id === null || packets === 0) return null;
    const hits = { id, packets, bytes: fields[at + 1]!, lastHitMs: fields[at + 2]! };
    fields.fill(0, at, at + FIELDS);
    return hits;
  }

  #grow(): void {
    const grown = new Float64Array(this.#ids.length * FIELDS * 2);
    grown.set(this.#fields);
    this.#fields = grown;
  }
}
