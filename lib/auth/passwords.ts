// Passwords: bcrypt over the NFC form, never longer than what bcrypt looks at. password-queue.ts
// says whose turn it is. docs/api.md#users.

import bcrypt from 'bcrypt';
import { type Asker, PasswordQueue } from './password-queue.ts';

/** Bytes that bcrypt looks at; more would be cut silently. */
export const PASSWORD_BYTES_MAX = 72;
/** Fewest characters of a password. */
export const PASSWORD_CHARACTERS_MIN = 12;
/** Most characters of a password. */
export const PASSWORD_CHARACTERS_MAX = 64;

/** Cost of bcrypt: 2^12 rounds: about 0.25 s of one core. */
export const DEFAULT_COST = 12;
/** The least cost that bcrypt knows. */
export const PASSWORD_COST_MIN = 4;
/** One queue for the process, whose processor they share. */
const queue = new PasswordQueue();

/** The asker for a person who sets a password, or is signed in: such a person is no stranger. */
const LET_IN: Asker = { scope: 'let in', network: 'let in', isKnown: true };

/** What a password is compared with where there is none: no password's hash, and as much work. */
export function standInHash(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`;
}

/** Hashes a password; its length was checked before. */
export function hashPassword(password: string, cost = DEFAULT_COST): Promise<string> {
  return queue.run(LET_IN, () => bcrypt.hash(password.normalize('NFC'), cost));
}

/** Tells whether a password is the one that was hashed; takes as long where it cannot be. */
export async function verifyPassword(
  password: string,
  hash: string,
  asker: Asker = LET_IN,
): Promise<boolean> {
  const isSame = await queue.run(asker, () => bcrypt.compare(password.normalize('NFC'), hash));
  // bcrypt reads no further: two passwords with one beginning would be one.
  return isSame && passwordBytes(password) <= PASSWORD_BYTES_MAX;
}

/** How many bytes bcrypt gets of a password. */
export function passwordBytes(password: string): number {
  return Buffer.byteLength(password.normalize('NFC'), 'utf8');
}
