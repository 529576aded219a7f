// The owner of a file that root makes. In the folder of another user, for example of a service for
// which root runs a command, the file is given to that user. Only its owner may read the file, so
// the user could not open it otherwise.

import { closeSync, fchownSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';

/**
 * Gives a file that this process just made, and holds open, to the owner of its folder. A root that
 * may not, as in a container without capabilities, keeps it and is the one who uses it.
 */
export function giveToOwnerOf(folder: string, file: number): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  if (uid === 0) return;
  try {
    fchownSync(file, uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}

/** Makes an empty file where it is absent, for its owner alone. */
export function makeFile(path: string): void {
  try {
    const file = openSync(path, 'ax', 0o600);
    giveToOwnerOf(dirname(path), file);
    closeSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
