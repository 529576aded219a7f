// One case for the letters A to Z alone, as SQLite's LOWER does it. What looks like one of them
// stays another letter.

/** A text with a to z in place of A to Z. */
export function foldAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
