// Whether the Node of a release is that of Node's makers: they sign the hashes of their archives,
// and the program in such an archive has the hash that node.json has. It asks nodejs.org, so only
// who publishes needs it.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ARCHITECTURES } from './architectures.ts';
import { PINS } from './node.ts';
import { hashOf } from './sums.ts';

/** Where the archives of a version are, without its name, and the keys of those who make them. */
export const MAKERS = {
  archives: 'https://nodejs.org/dist',
  keys: 'https://github.com/nodejs/release-keys/raw/HEAD/gpg/pubring.kbx',
} as const;

/** Names the programs that were compared; throws where a signature or a hash is another one. */
export function compareNode(
  { archives, keys }: Readonly<Record<keyof typeof MAKERS, string>> = MAKERS,
  pins = PINS,
): string[] {
  const staging = mkdtempSync(join(tmpdir(), 'postern-node-'));
  const fetched = (address: string, name: string): string => {
    const file = join(staging, name);
    execFileSync('curl', ['--fail', '--silent', '--show-error', '--location', '-o', file, address]);
    return file;
  };
  try {
    const folder = `${archives}/v${pins.version}`;
    const signed = fetched(`${folder}/SHASUMS256.txt.asc`, 'signed.asc');
    const text = join(staging, 'verified');
    const keyring = fetched(keys, 'keys.kbx');
    const words = ['--quiet', '--keyring', keyring, '--output', text, signed];
    execFileSync('gpgv', words, { stdio: 'pipe' });
    const sums = readFileSync(text, 'utf8');
    return ARCHITECTURES.map(({ name }) => {
      const program = `node-v${pins.version}-linux-${name}`;
      const archive = fetched(`${folder}/${program}.tar.gz`, `${program}.tar.gz`);
      if (!sums.includes(`${hashOf(archive)}  ${program}.tar.gz\n`))
        throw new Error(`${program}.tar.gz is not the archive that its makers signed`);
      execFileSync('tar', ['-xzf', archive, '-C', staging, `${program}/bin/node`]);
      const hash = hashOf(join(staging, program, 'bin/node'));
      if (hash !== pins[name])
        throw new Error(
          `Node ${pins.version} for ${name} is ${hash} for its makers, and ${pins[name]} here`,
        );
      return program;
    });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
