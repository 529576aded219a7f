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

/** How much of what all devices share one of them may have: a quarter, and at least 64. */
export function shareOf(all: number): number {
  return Math.max(all >> 2, Math.min(all, 64));
}
