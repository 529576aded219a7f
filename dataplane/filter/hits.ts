// What the rules of one scope were hit by since the last sample, by rule number. A number may
// become another rule's; its hits are told under the id of who had it.

import type { RuleSample } from '../contract.ts';

/** Of each rule: packets, bytes, Unix time in ms of the last. */
const FIELDS = 3;

/** Hits of the rules of one scope. */
export class Hits {
  #ids: (string | null)[] = [];
  #fields = new Float64Array(0);

  /** Counts a packet. The time comes in an array: a number that is handed on may be allocated. */
  count(rule: number, bytes: number, wallMs: Float64Array): void {
    const at = rule * FIELDS;
    this.#fields[at]! += 1;
    this.#fields[at + 1]! += bytes;
    this.#fields[at + 2] = wallMs[0]!;
  }

  /** Gives a number to a rule, or to none. Returns the hits of who had it, null for none. */
  rename(rule: number, id: string | null): RuleSample | null {
    const hits = this.#takeOf(rule);
    while (this.#ids.length <= rule) this.#ids.push(null);
    this.#ids[rule] = id;
    if (this.#fields.length < this.#ids.length * FIELDS) this.#grow();
    return hits;
  }

  /** Takes the hits of all rules, which are zero afterwards; null for each that has none. */
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
