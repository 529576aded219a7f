// One case for the letters A to Z alone, as SQLite's LOWER does it. Letters that only look like one
// of these stay as they are.

/** A text with a to z in place of A to Z. */
export function foldAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
