// What an e-mail address must look like, for everybody who takes one: the API, identity providers,
// the command line and imports.

import { foldAscii, userFields } from '../../models/index.ts';

/** Characters that an address may have. */
export const EMAIL_CHARACTERS_MAX = userFields.email.api.atMost;

// Control characters, ends of lines and signs that turn the direction of writing: with them an
// address could look like another one in logs, pages and terminals.
const FORBIDDEN = '\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';

/** One `@` with text on both sides. */
export const EMAIL_PATTERN = new RegExp(`^[^@${FORBIDDEN}]+@[^@${FORBIDDEN}]+$`);

/** True for a text that may be somebody's e-mail address, however long it is. */
export function isEmail(text: string): boolean {
  return EMAIL_PATTERN.test(text);
}

/** True for a text that an account can have as its e-mail address. */
export function isPossibleEmail(text: string): boolean {
  return text.length <= EMAIL_CHARACTERS_MAX && text.isWellFormed() && isEmail(text);
}

/** Whether two texts are one address: the same characters, but for the case of A to Z. */
export function isSameAddress(one: string, other: string): boolean {
  return foldAscii(one) === foldAscii(other);
}
