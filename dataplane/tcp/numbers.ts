// Sequence numbers (RFC 9293, 3.4), whole numbers modulo 2^32, which are kept as signed words of 32
// bits; and the share that one device has.

/** Whether `a` comes before `b`. */
export function isBefore(a: number, b: number): boolean {
  return ((a - b) | 0) < 0;
}

/** Whether `a` comes after `b`. */
export function isAfter(a: number, b: number): boolean {
  return ((a - b) | 0) > 0;
}

/** The later one of two numbers. */
export function later(a: number, b: number): number {
  return ((a - b) | 0) > 0 ? a : b;
}

/** The earlier one of two numbers. */
export function earlier(a: number, b: number): number {
  return ((a - b) | 0) < 0 ? a : b;
}

/** A device has so many of what all share before it must leave any to others. */
const FEW = 64;

/** How much of what all devices share one of them may have: a quarter, and at least a few. */
export function shareOf(all: number): number {
  return Math.max(all >> 2, Math.min(all, FEW));
}

/**
 * Whether a device that has `of` of `share` at most may have one more, where `left` are left. It
 * leaves to others at least as many as it has, so that no four devices have all.
 */
export function mayHaveMore(of: number, share: number, left: number, few = FEW): boolean {
  return left > 0 && of < share && (of < few || of < left);
}
