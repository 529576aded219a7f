// Comparisons of values. They are not for secrets: macs are compared in constant time elsewhere.

/** Whether two addresses or keys are equal, or both absent. */
export function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** How each field of a value is compared; a field that is missing here does not compile. */
export type Comparison<T> = { readonly [Name in keyof T]-?: (a: T[Name], b: T[Name]) => boolean };

/** Whether two values are equal in all fields. */
export function sameParts<T>(comparison: Comparison<T>, a: T, b: T): boolean {
  if (a === b) return true;
  for (const name in comparison) if (!comparison[name](a[name], b[name])) return false;
  return true;
}
