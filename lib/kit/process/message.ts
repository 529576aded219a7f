// The sentence of whatever was thrown.

/** What there is to say, in a sentence, of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
