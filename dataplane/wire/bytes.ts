// Values that mean the same. What is compared here is public: macs have a comparison of their own.

/** Whether two addresses or keys are equal, or both absent. */
export function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** How each part of a value is compared; a part that is forgotten does not compile. */
export type Comparison<T> = { readonly [Name in keyof T]-?: (a: T[Name], b: T[Name]) => boolean };

/** Whether two values are the same in each of their parts. */
export function sameParts<T>(comparison: Comparison<T>, a: T, b: T): boolean {
  if (a === b) return true;
  for (const name in comparison) if (!comparison[name](a[name], b[name])) return false;
  return true;
}
