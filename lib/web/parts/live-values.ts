// The values of a page about one device or about all: the first event has all of them, each later
// one those that changed. Lists wait for one another, so that a page is sent less than a thousand
// bytes a second, however busy the gateway is.

/** What a page is sent a second, on the average. */
const SECOND_BYTES = 850;
/** A value that is not longer than this never waits. */
const SHORT_BYTES = 100;

/** Values by name, each as JSON: made once for all pages that show them. */
export type LiveValues = ReadonlyMap<string, string>;

/** The values of a view by name. */
export function liveValues(view: object): LiveValues {
  return new Map(Object.entries(view).map(([name, value]) => [name, JSON.stringify(value)]));
}

/** The news of one page; it is asked once a second. */
export class ValueNews {
  readonly #sent = new Map<string, string>();
  /** By name: in which second a value was sent. */
  readonly #sentIn = new Map<string, number>();
  #second = 0;
  #room = 0;

  /** What the page has not, as JSON; null: it has all of it. What is urgent never waits. */
  next(values: LiveValues, urgent: LiveValues = new Map()): string | null {
    const isFirst = this.#second === 0;
    this.#second += 1;
    this.#room = Math.min(SECOND_BYTES, this.#room + SECOND_BYTES);
    const changed = [...values, ...urgent].filter(([name, json]) => this.#sent.get(name) !== json);
    const parts: string[] = [];
    for (const [name, json] of changed.toSorted((one, other) => this.#comesBefore(one, other))) {
      const part = `${JSON.stringify(name)}:${json}`;
      const size = Buffer.byteLength(part) + 1;
      const canWait = !isFirst && size > SHORT_BYTES && !urgent.has(name);
      if (canWait && this.#room <= 0) continue;
      // A list that is larger than what is left is sent, and those behind it wait.
      if (!isFirst) this.#room -= size;
      this.#sent.set(name, json);
      this.#sentIn.set(name, this.#second);
      parts.push(part);
    }
    return parts.length === 0 ? null : `{${parts.join(',')}}`;
  }

  /** Short values come first, then what has waited longest. */
  #comesBefore([one, json]: [string, string], [other, otherJson]: [string, string]): number {
    const length = (name: string, text: string): number =>
      Buffer.byteLength(name) + Buffer.byteLength(text) + 4;
    const isLong = [length(one, json), length(other, otherJson)].map((size) => size > SHORT_BYTES);
    const waited = (name: string): number => this.#sentIn.get(name) ?? 0;
    return Number(isLong[0]) - Number(isLong[1]) || waited(one) - waited(other);
  }
}
