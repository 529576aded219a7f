// Sequence numbers (RFC 9293, 3.4): whole numbers modulo 2^32, kept as signed words of 32 bits.

/** How much of something that all devices share one of them may have: a quarter, if that is much. */
export function shareOf(all: number): number {
  return Math.max(all >> 2, Math.min(all, 64));
}

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
