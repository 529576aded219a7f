// The items of an iterable that exist: null stands for one that has nothing to report.

/** Almost all are null where there are thousands of rules, so no list of all of them is made. */
export function withoutNulls<T>(walk: Iterable<T | null>): T[] {
  const found: T[] = [];
  for (const one of walk) if (one !== null) found.push(one);
  return found;
}
