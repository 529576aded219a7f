// Doubly linked lists through an array of records: who came first. A list has a number; a record is
// in at most one list of one set of chains, by two words of its own. Nothing is ever allocated.

/** Records that are looked at when the one that ends first is wanted. */
const CANDIDATES = 8;

/** Lists of records by the order in which they came. Record 0 means none. */
export class Chains {
  readonly #words: Int32Array;
  readonly #recordWords: number;
  readonly #next: number;
  readonly #previous: number;
  readonly #oldest: Int32Array;
  readonly #newest: Int32Array;

  /** `next` is the place of two words in each record of `recordWords`. */
  constructor(words: Int32Array, recordWords: number, next: number, lists: number) {
    this.#words = words;
    this.#recordWords = recordWords;
    this.#next = next;
    this.#previous = next + 1;
    this.#oldest = new Int32Array(lists);
    this.#newest = new Int32Array(lists);
  }

  /** The record that has been in a list for longest. */
  oldest(list: number): number {
    return this.#oldest[list]!;
  }

  /** The one that came after it. */
  after(record: number): number {
    return this.#words[record * this.#recordWords + this.#next]!;
  }

  append(list: number, record: number): void {
    const at = record * this.#recordWords;
    const newest = this.#newest[list]!;
    this.#words[at + this.#next] = 0;
    this.#words[at + this.#previous] = newest;
    if (newest === 0) this.#oldest[list] = record;
    else this.#words[newest * this.#recordWords + this.#next] = record;
    this.#newest[list] = record;
  }

  remove(list: number, record: number): void {
    const at = record * this.#recordWords;
    const next = this.#words[at + this.#next]!;
    const previous = this.#words[at + this.#previous]!;
    if (previous === 0) this.#oldest[list] = next;
    else this.#words[previous * this.#recordWords + this.#next] = next;
    if (next === 0) this.#newest[list] = previous;
    else this.#words[next * this.#recordWords + this.#previous] = previous;
  }

  /** The record that would end first, of some that are oldest in a list that is not empty. */
  soonest(list: number, deadlines: Float64Array): number {
    let chosen = this.oldest(list);
    let record = this.after(chosen);
    for (let i = 1; i < CANDIDATES && record !== 0; i++) {
      if (deadlines[record]! < deadlines[chosen]!) chosen = record;
      record = this.after(record);
    }
    return chosen;
  }

  /** Returns that record, and puts the others last, so that not always the same ones are asked. */
  passOver(list: number, deadlines: Float64Array): number {
    let chosen = this.oldest(list);
    let record = this.after(chosen);
    for (let i = 1; i < CANDIDATES && record !== 0; i++) {
      const next = this.after(record);
      const other = deadlines[record]! < deadlines[chosen]! ? chosen : record;
      if (other === chosen) chosen = record;
      this.remove(list, other);
      this.append(list, other);
      record = next;
    }
    return chosen;
  }

  /** Makes a list empty at once; its records are in no list then. */
  forget(list: number): void {
    this.#oldest[list] = 0;
    this.#newest[list] = 0;
  }
}
