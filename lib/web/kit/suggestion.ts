// What a field of a form offers to choose from.

/** A value that a field offers, and how people read it. */
export interface Suggestion {
  readonly value: string;
  /** Left out: as the value is. */
  readonly label?: string;
}
