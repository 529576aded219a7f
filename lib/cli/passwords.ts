// Passwords on the command line: made here and shown once, or read from standard input and not
// shown.

import { randomBytes } from 'node:crypto';

/** The password from standard input, without its last line break, or a random one. */
export async function passwordOf(
  isPiped: boolean,
  readStdin: () => Promise<string>,
): Promise<string> {
  return isPiped
    ? (await readStdin()).replace(/\r?\n$/, '')
    : randomBytes(15).toString('base64url');
}

/** The label of a password, so that on standard output scripts read the password alone. */
export function labelOfPassword(email: string): string {
  return `This is the password of ${email}. Postern shows it only once.`;
}
