// The programs of Debian that make a release. They are looked for before anything is made, because
// a release takes minutes.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { type Architecture, toolFor } from './architectures.ts';

/** What is wanted, and where programs are. */
interface Environment {
  readonly PATH?: string | undefined;
  readonly MINISIGN_KEY?: string | undefined;
}

/** Throws if programs are missing; the error says by which command root installs them. */
export function refuseMissing(
  architectures: readonly Architecture[],
  environment: Environment = process.env,
): void {
  const missing = missingPackages(architectures, environment);
  if (missing.length > 0)
    throw new Error(`programs are missing; as root: apt-get install ${missing.join(' ')}`);
}

/** The packages whose program is not on the path. */
function missingPackages(
  architectures: readonly Architecture[],
  { PATH = '', MINISIGN_KEY: key }: Environment,
): string[] {
  const folders = PATH.split(delimiter);
  const needed = [
    ...architectures.map((one) => [toolFor(one, 'g++'), compilerOf(one)] as const),
    ['readelf', 'binutils'] as const,
    ['mmdebstrap', 'mmdebstrap'] as const,
    ['dpkg-deb', 'dpkg'] as const,
    ...(key === undefined ? [] : [['minisign', 'minisign'] as const]),
  ];
  return needed
    .filter(([program]) => !folders.some((folder) => canRun(join(folder, program))))
    .map(([, name]) => name);
}

/** The package of the compiler, whose dependencies bring `strip` for the same machine. */
function compilerOf({ name, triplet }: Architecture): string {
  return name === process.arch ? 'g++' : `g++-${triplet.replaceAll('_', '-')}`;
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
