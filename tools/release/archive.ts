// Archives that have the same bytes wherever and whenever they are made of the same files.

import { execFileSync } from 'node:child_process';

/** Packs the folder `name` in `parent` into a file; `epoch` is the time that its files get. */
export function pack(file: string, parent: string, name: string, epoch: number): void {
  const same = ['--sort=name', '--format=gnu', '--owner=0', '--group=0', '--numeric-owner'];
  // What the user who packs keeps from others must not be kept from those who unpack.
  const words = [...same, `--mtime=@${epoch}`, '--mode=u+rw,go=rX', '-C', parent, name];
  execFileSync('tar', ['--use-compress-program=gzip -n', '-cf', file, ...words], {
    stdio: 'inherit',
  });
}
