// Bytes that mean the same. What is compared here is public: macs have a comparison of their own.

/** Whether two addresses or keys are equal, or both absent. */
export function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
