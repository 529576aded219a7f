// Passwords: bcrypt over the NFC form, never longer than what bcrypt looks at. At most two are
// computed at once, so that sign-ins leave threads to the database. api.md, section 4.

import bcrypt from 'bcrypt';
import { ApiError } from '../api/errors.ts';

/** Bytes that bcrypt looks at; more would be cut silently. */
export const PASSWORD_BYTES_MAX = 72;
/** Fewest characters of a password. */
export const PASSWORD_CHARACTERS_MIN = 12;
/** Most characters of a password. */
export const PASSWORD_CHARACTERS_MAX = 64;

/** Cost of bcrypt: 2^12 rounds: about 0.25 s of one core. */
export const DEFAULT_COST = 12;
const AT_ONCE_MAX = 2;
/** Passwords that wait for their turn: some 8 s of work; more come back later. */
const WAITING_MAX = 64;

/** Hashes a password; its length was judged before. */
export function hashPassword(password: string, cost = DEFAULT_COST): Promise<string> {
  return inTurn(() => bcrypt.hash(password.normalize('NFC'), cost));
}

/** Tells whether a password is the one that was hashed; takes as long where it cannot be. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const isSame = await inTurn(() => bcrypt.compare(password.normalize('NFC'), hash));
  // bcrypt reads no further: two passwords with one beginning would be one.
  return isSame && passwordBytes(password) <= PASSWORD_BYTES_MAX;
}

/** How many bytes bcrypt gets of a password. */
export function passwordBytes(password: string): number {
  return Buffer.byteLength(password.normalize('NFC'), 'utf8');
}

let atOnce = 0;
const waiting: (() => void)[] = [];

/** Runs work when fewer than two are running; first come, first served. A long queue refuses. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (waiting.length >= WAITING_MAX)
    throw new ApiError('service_unavailable', { detail: 'too many passwords wait' });
  if (atOnce >= AT_ONCE_MAX) await new Promise<void>((resolve) => void waiting.push(resolve));
  else atOnce += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    // The place is handed over, not given back.
    if (next === undefined) atOnce -= 1;
    else next();
  }
}
