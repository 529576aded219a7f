// The items of an iterable that exist: null stands for one that has nothing to report.

export function withoutNulls<T>(walk: Iterable<T | null>): T[] {
  return [...walk].filter((one) => one !== null);
}
