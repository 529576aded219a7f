// Turns the bytes of a fuzz input into choices: numbers, slices, and zeros when they run out. So
// every input means something, and one that is a byte longer means nearly the same.

/** Reads choices from an input. */
export class ChoiceReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  word(): number {
    return this.byte() | (this.byte() << 8);
  }

  integer(): number {
    return this.word() | (this.word() << 16);
  }

  /** As many bytes as there are, `length` at most. */
  slice(length: number): Uint8Array {
    const slice = this.#bytes.slice(this.#at, this.#at + length);
    this.#at += length;
    return slice;
  }
}
