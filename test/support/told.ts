// What a walk around things that may have news tells of; null stands for one that has none.

export function told<T>(walk: Iterable<T | null>): T[] {
  return [...walk].filter((one) => one !== null);
}
