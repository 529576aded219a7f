// Values of a statement, beside its text. A text without values stays prepared, and no value can be
// taken for SQL.

/** The values of one statement, in the order of their places. */
export class Binds {
  readonly values: (string | number)[] = [];

  /** The place of one value. */
  one(value: string | number): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  /** The places of values, as many as there are. */
  each(values: readonly (string | number)[]): string {
    return values.map((value) => this.one(value)).join(', ');
  }

  /**
   * The places of a list for `IN`. The last value fills it up to a power of two: so lists of any
   * length make few texts.
   */
  list(values: readonly (string | number)[]): string {
    const last = values.at(-1);
    if (last === undefined) throw new RangeError('a list for IN has at least one value');
    const count = 2 ** Math.ceil(Math.log2(values.length));
    return this.each(Array.from({ length: count }, (_, i) => values[i] ?? last));
  }
}
