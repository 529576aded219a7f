// Archives that have the same bytes wherever and whenever they are made of the same files.

import { execFileSync } from 'node:child_process';

/** How files are packed. */
interface Packing {
  /** Seconds since 1970 that all files get. */
  readonly epoch: number;
  /** Rights of all files, in the words of `chmod`. */
  readonly rights?: string;
  /** The number of the user whose the files are: root's unless it is given. */
  readonly owner?: number;
  /** Whether the files come behind those that the archive has. */
  readonly isAppended?: boolean;
  readonly isCompressed?: boolean;
  /** What changes the names of the files, as an expression of `sed`. */
  readonly renaming?: string;
}

// What the user who packs keeps from others must not be kept from those who unpack, and no program
// runs as its owner.
const RIGHTS = 'u+rw,go=rX,ug-s';

/** Packs files of a folder into an archive. */
export function tar(
  file: string,
  folder: string,
  names: readonly string[],
  { epoch, rights = RIGHTS, owner = 0, isAppended, isCompressed, renaming }: Packing,
): void {
  const words = ['--sort=name', '--format=gnu', `--mtime=@${epoch}`, `--mode=${rights}`];
  words.push(`--owner=${owner}`, '--group=0', '--numeric-owner');
  if (isCompressed === true) words.push('--use-compress-program=gzip -n');
  if (renaming !== undefined) words.push(`--transform=${renaming}`);
  const verb = isAppended === true ? '--append' : '--create';
  execFileSync('tar', [verb, `--file=${file}`, ...words, `--directory=${folder}`, ...names], {
    stdio: 'inherit',
  });
}

/** Packs the folder `name` in `parent` into a file; `epoch` is the time that its files get. */
export function pack(file: string, parent: string, name: string, epoch: number): void {
  tar(file, parent, [name], { epoch, isCompressed: true });
}
