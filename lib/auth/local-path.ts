// Where a browser may be sent after signing in: to a page of this gateway and nowhere else,
// whatever a link or a form asked for. Reads as browsers do: `//host`, `/\host` and tabs lead
// elsewhere.

/** Longest path that is remembered. */
export const LOCAL_PATH_CHARACTERS_MAX = 1_024;

const HERE = 'http://postern.invalid';

/** The path, with its query, if it leads to a page of this gateway; null otherwise. */
export function localPath(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > LOCAL_PATH_CHARACTERS_MAX) return null;
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(text) || text.includes('\\')) return null;
  if (!URL.canParse(text, HERE)) return null;
  const { origin, pathname, search } = new URL(text, HERE);
  // Dots are taken out by now: `/.//host` must not become `//host`.
  return origin === HERE && !pathname.startsWith('//') ? pathname + search : null;
}
