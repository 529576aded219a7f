// The machines that a release is made for, and the tools of Debian that make it for another machine
// than this one.

import process from 'node:process';

/** A kind of machine. */
export interface Architecture {
  /** As Node calls it. */
  readonly name: 'x64' | 'arm64';
  readonly debian: 'amd64' | 'arm64';
  /** What loads a program that was built for glibc. */
  readonly loader: string;
  /** As the compiler calls it. */
  readonly triplet: string;
}

/** The release exists for each of these. */
export const ARCHITECTURES: readonly Architecture[] = [
  {
    name: 'x64',
    debian: 'amd64',
    loader: '/lib64/ld-linux-x86-64.so.2',
    triplet: 'x86_64-linux-gnu',
  },
  {
    name: 'arm64',
    debian: 'arm64',
    loader: '/lib/ld-linux-aarch64.so.1',
    triplet: 'aarch64-linux-gnu',
  },
];

/** The machine that runs this. */
export function ownArchitecture(): Architecture {
  const own = ARCHITECTURES.find(({ name }) => name === process.arch);
  if (own === undefined) throw new Error(`no release is made for ${process.arch}`);
  return own;
}

/** A program of the compiler, such as `strip`, that understands what is built for the machine. */
export function toolFor({ name, triplet }: Architecture, program: string): string {
  return name === process.arch ? program : `${triplet}-${program}`;
}
