// The blanks that XML and mail programs put around a text. They do not count as part of a name. Any
// other blank counts: a person cannot see it, and a name with it may be the name of somebody else.

const BLANKS: ReadonlySet<string | undefined> = new Set([' ', '\t', '\r', '\n']);

/** The text without the blanks of XML around it, in one pass: a stranger may have written it. */
export function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && BLANKS.has(text[start])) start += 1;
  while (end > start && BLANKS.has(text[end - 1])) end -= 1;
  return text.slice(start, end);
}
