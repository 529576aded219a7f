// A package as a lock file of npm has it, for files that are copied out of it.

import { readFileSync } from 'node:fs';

/** What is said of a package whose files are copied. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly integrity: string;
}

/** Reads what the lock file says of a package that it has. */
export function lockedPackage(lockFile: string, name: string): LockedPackage {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8')) as {
    packages: Record<string, Omit<LockedPackage, 'name'>>;
  };
  const { version, license, integrity } = packages[`node_modules/${name}`]!;
  return { name, version, license, integrity };
}
