// The hashes of the files of a release, and their signature.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const SUMS = 'SHA256SUMS';

/** The SHA-256 of a file, in hex. */
export function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Writes SHA256SUMS into a folder, for `sha256sum --check`. */
export function writeSums(folder: string): void {
  const lines = readdirSync(folder)
    .filter((name) => !name.startsWith(SUMS))
    .toSorted()
    .map((name) => `${hashOf(join(folder, name))}  ${name}\n`);
  writeFileSync(join(folder, SUMS), lines.join(''));
}

/**
 * Signs the hashes with the secret key that MINISIGN_KEY names, if it does; returns whether.
 * minisign asks for the password of the key.
 */
export function sign(
  folder: string,
  version: string,
  { MINISIGN_KEY: key } = process.env,
): boolean {
  if (key === undefined) return false;
  // The time of the signature would be in it unless something else is.
  const words = ['-S', '-s', key, '-m', join(folder, SUMS), '-t', `Postern ${version}`];
  execFileSync('minisign', words, { stdio: ['inherit', 'ignore', 'inherit'] });
  return true;
}
