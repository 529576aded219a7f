// Doubly linked lists of records in an array, in the order in which the records came. Each list has
// a number. A record is in at most one list of a set of chains, by two of its words. Nothing is
// allocated.

/** How many of the oldest records are compared to find the one that ends first. */
const CANDIDATES = 8;

/** Lists of records in the order in which they came. Record 0 means none. */
export class Chains {
  readonly #words: Int32Array;
  readonly #recordWords: number;
  readonly #next: number;
  readonly #previous: number;
  readonly #oldest: Int32Array;
  readonly #newest: Int32Array;

  /** `next` is the place of the two words of a list in each record of `recordWords` words. */
  constructor(words: Int32Array, recordWords: number, next: number, lists: number) {
    this.#words = words;
    this.#recordWords = recordWords;
    this.#next = next;
    this.#previous = next + 1;
    this.#oldest = new Int32Array(lists);
    this.#newest = new Int32Array(lists);
  }

  /** The record that has been in a list longest; 0: the list is empty. */
  oldest(list: number): number {
    return this.#oldest[list]!;
  }

  /** The record that came last to a list; 0: the list is empty. */
  newest(list: number): number {
    return this.#newest[list]!;
  }

  /** The record that came before this one; 0: none. */
  before(record: number): number {
    return this.#words[record * this.#recordWords + this.#previous]!;
  }

  /** The record that came after this one; 0: none. */
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

  /** The record that ends first among the oldest ones of a list; 0: the list is empty. */
  soonest(list: number, deadlines: Float64Array): number {
    let chosen = this.oldest(list);
    let record = chosen === 0 ? 0 : this.after(chosen);
    for (let i = 1; i < CANDIDATES && record !== 0; i++) {
      if (deadlines[record]! < deadlines[chosen]!) chosen = record;
      record = this.after(record);
    }
    return chosen;
  }

  /**
   * Returns the same record as `soonest` and moves the others to the end of the list, so that next
   * time other records are compared.
   */
  passOver(list: number, deadlines: Float64Array): number {
    let chosen = this.oldest(list);
    let record = chosen === 0 ? 0 : this.after(chosen);
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

  /** Empties a list at once; its records are in no list after that. */
  forget(list: number): void {
    this.#oldest[list] = 0;
    this.#newest[list] = 0;
  }
}
