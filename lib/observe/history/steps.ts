// Counts of the last minutes or hours in memory, by subject, in steps of equal length: a ring for
// each subject, all rings in one array. The array grows with the subjects that were counted within
// its time, and the ring of one that was silent for longer is given to another.

/** What the steps are made of. */
export interface StepsOptions {
  readonly stepMs: number;
  /** How many steps are kept of each subject. */
  readonly kept: number;
  /** How many counts each step has. */
  readonly counts: number;
  /** How many subjects there may be; of more, the one that was silent for longest is forgotten. */
  readonly max: number;
}

/** The ring of a subject. */
interface Ring {
  readonly place: number;
  /** The number of its latest step, counted from 1970. */
  step: number;
}

const FIRST_RINGS = 16;

/** Counts of many subjects in steps. */
export class Steps {
  readonly #options: StepsOptions;
  /** By subject; the one that was counted last is at the end. */
  readonly #rings = new Map<string, Ring>();
  readonly #free: number[] = [];
  #values = new Float32Array(0);

  constructor(options: StepsOptions) {
    this.#options = options;
  }

  /** How many subjects have a ring, and how many bytes all rings take. */
  get size(): { readonly subjects: number; readonly bytes: number } {
    return { subjects: this.#rings.size, bytes: this.#values.byteLength };
  }

  /**
   * Adds what was counted of a subject between two times (Unix ms), evenly to the steps between
   * them.
   */
  add(subject: string, counts: readonly number[], untilMs: number, sinceMs = untilMs): void {
    const { stepMs, kept } = this.#options;
    const last = Math.floor(untilMs / stepMs);
    const first = Math.min(last, Math.max(Math.floor(sinceMs / stepMs), last - kept + 1));
    const beganMs = Math.max(Math.min(sinceMs, untilMs), first * stepMs);
    const ring = this.#ringOf(subject, last);
    for (let step = first; step <= last; step += 1) {
      const partMs = Math.min(untilMs, (step + 1) * stepMs) - Math.max(beganMs, step * stepMs);
      const share = untilMs === beganMs ? 1 : partMs / (untilMs - beganMs);
      const at = this.#placeOf(ring, step);
      for (const [i, count] of counts.entries())
        this.#values[at + i] = (this.#values[at + i] ?? 0) + count * share;
    }
  }

  /** What was counted of a subject in a step, by the number of the step; null: nothing. */
  read(subject: string, step: number): readonly number[] | null {
    const at = this.#keptAt(subject, step);
    return at === null ? null : [...this.#values.subarray(at, at + this.#options.counts)];
  }

  /** Adds what was counted of a subject in a step to sums; it makes no list for each subject. */
  addTo(sums: number[], subject: string, step: number): void {
    const at = this.#keptAt(subject, step);
    if (at === null) return;
    for (let i = 0; i < this.#options.counts; i += 1)
      sums[i] = (sums[i] ?? 0) + (this.#values[at + i] ?? 0);
  }

  /** Where a step of a subject is; null where it is not kept. */
  #keptAt(subject: string, step: number): number | null {
    const ring = this.#rings.get(subject);
    if (ring === undefined || step > ring.step || step <= ring.step - this.#options.kept)
      return null;
    return this.#placeOf(ring, step);
  }

  /** The ring of a subject, in which `step` is the latest or one of those that are kept. */
  #ringOf(subject: string, step: number): Ring {
    const { kept } = this.#options;
    const known = this.#rings.get(subject);
    if (known === undefined) {
      const ring = { place: this.#takePlace(step), step };
      this.#clear(ring, step - kept + 1, step);
      this.#rings.set(subject, ring);
      return ring;
    }
    // A clock that was set back by less than all steps adds to those that are there.
    if (step <= known.step && step > known.step - kept) return known;
    const isLater = step > known.step && step - known.step < kept;
    this.#clear(known, isLater ? known.step + 1 : step - kept + 1, step);
    known.step = step;
    this.#rings.delete(subject);
    this.#rings.set(subject, known);
    return known;
  }

  #clear(ring: Ring, first: number, last: number): void {
    for (let step = first; step <= last; step += 1) {
      const at = this.#placeOf(ring, step);
      this.#values.fill(0, at, at + this.#options.counts);
    }
  }

  #placeOf({ place }: Ring, step: number): number {
    const { kept, counts } = this.#options;
    // A host without a clock begins in 1970, and what is kept before that.
    return (place * kept + (((step % kept) + kept) % kept)) * counts;
  }

  /** A place for a new ring: of a subject that is silent, or at the end. */
  #takePlace(step: number): number {
    const { kept, counts, max } = this.#options;
    for (const [subject, ring] of this.#rings) {
      if (ring.step > step - kept && this.#rings.size < max) break;
      this.#rings.delete(subject);
      this.#free.push(ring.place);
    }
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const place = this.#rings.size;
    const ringLength = kept * counts;
    if ((place + 1) * ringLength > this.#values.length) {
      const rings = Math.min(max, Math.max(FIRST_RINGS, place * 2));
      const grown = new Float32Array(rings * ringLength);
      grown.set(this.#values);
      this.#values = grown;
    }
    return place;
  }
}
