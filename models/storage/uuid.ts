// Ids of records: UUIDs of version 7 (RFC 9562, section 5.7). They begin with the time, so that
// rows made later sort later and b-trees grow at one end; within one process they never go back.

import { randomFillSync } from 'node:crypto';

/** Room in the 12-bit counter of one millisecond. */
const COUNTER_MAX = 0xfff;

let lastMs = 0;
let counter = 0;

const RANDOM_BYTES = 10;
/** Random bytes for the next hundred ids, drawn at once because each call is expensive. */
const pool = Buffer.alloc(100 * RANDOM_BYTES);
let used = pool.length;

/** Makes an id greater than every id made before it in this process, clock set back or not. */
export function newId(): string {
  const nowMs = Date.now();
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + RANDOM_BYTES);
  used += RANDOM_BYTES;
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // The top bit starts at 0: at least 2,048 further ids fit into this millisecond.
    counter = random.readUInt16BE(8) & 0x7ff;
  } else if (counter < COUNTER_MAX) {
    counter += 1;
  } else {
    lastMs += 1;
    counter = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const sequence = (0x7000 | counter).toString(16);
  const variant = (0x8000 | (random.readUInt16BE(0) & 0x3fff)).toString(16);
  const tail = random.toString('hex', 2, 8);
  return `${time.slice(0, 8)}-${time.slice(8)}-${sequence}-${variant}-${tail}`;
}
