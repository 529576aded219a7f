// The newest wireguard-go that Debian has, sid's, beside the one that is installed: its package is
// fetched from the server that makes the container's base, checked by apt, and only unpacked. A test
// in a network of its own fetches it by the network of the machine (test/apart.sh).

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { command } from './namespaces.ts';

const SID =
  'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main';

/** A program, and how to take it away again. */
export interface Unpacked {
  readonly program: string;
  remove(): Promise<void>;
}

/** @throws Error where Debian's server cannot be reached, with what apt says of it */
export async function unpackNewestWireguardGo(): Promise<Unpacked> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-sid-'));
  await mkdir(join(folder, 'lists/partial'), { recursive: true });
  await writeFile(join(folder, 'sources.list'), `${SID}\n`);
  const script = `
    cd "$1"
    options=(-qq -o "Dir::Etc::sourcelist=$1/sources.list" -o Dir::Etc::sourceparts=-
      -o "Dir::State::Lists=$1/lists" -o "Dir::Cache=$1/cache" -o APT::Sandbox::User=root)
    apt-get "\${options[@]}" update
    apt-get "\${options[@]}" download wireguard-go
    dpkg -x wireguard-go_*.deb .`;
  const outside = process.env['OUTSIDE'];
  const way = outside === undefined ? [] : ['nsenter', `--net=${outside}`];
  const [program, ...args] = [...way, 'bash', '-euo', 'pipefail', '-c', script, 'unpack', folder];
  await command(program!, ...args);
  return {
    program: join(folder, 'usr/bin/wireguard-go'),
    remove: () => rm(folder, { recursive: true }),
  };
}
