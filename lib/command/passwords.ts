// Passwords of the command line: made up and shown once, or piped in and shown to nobody.

import { randomBytes } from 'node:crypto';

/** What was piped in without its last line break, or a password that is made up. */
export async function passwordOf(
  isPiped: boolean,
  readStdin: () => Promise<string>,
): Promise<string> {
  return isPiped
    ? (await readStdin()).replace(/\r?\n$/, '')
    : randomBytes(15).toString('base64url');
}

/** The label of a password that stands alone on standard output, where scripts read it. */
export function labelOfPassword(email: string): string {
  return `This is the password of ${email}. Postern shows it only once.`;
}
