// A static repository for apt, made by reprepro: any web server that serves its folder will do. A
// release takes the place of the one before, so that apt upgrades from one to the next.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { ARCHITECTURES } from './architectures.ts';

const SUITE = 'stable';
const COMPONENT = 'main';

/** Where apt is to look: the file for /etc/apt/sources.list.d, beside the public key. */
export const sourcesFor = (address: string, keyring: string): string =>
  [
    'Types: deb',
    `URIs: ${address}`,
    `Suites: ${SUITE}`,
    `Components: ${COMPONENT}`,
    `Signed-By: ${keyring}`,
    '',
  ].join('\n');

/**
 * Adds the packages of a release to the repository in `folder`, which is made if it is absent, and
 * signs it with a key of gpg. `folder/public` is what is served; what reprepro needs for the next
 * release is beside it.
 */
export function addToRepository(folder: string, release: string, key: string): void {
  const packages = readdirSync(release).filter((name) => name.endsWith('.deb'));
  if (packages.length === 0)
    throw new Error(`${release} holds no package; first: npm run release -- VERSION`);
  const trial = packages.find((name) => name.includes('~'));
  if (trial !== undefined)
    throw new Error(`${trial} is a trial, to which nobody is to be upgraded: give it to people`);
  mkdirSync(join(folder, 'conf'), { recursive: true });
  mkdirSync(join(folder, 'public'), { recursive: true });
  writeFileSync(join(folder, 'conf/distributions'), distribution(key));
  const reprepro = (...words: string[]): string =>
    execFileSync('reprepro', ['--silent', ...places(folder), ...words], {
      encoding: 'utf8',
      stdio: ['inherit', 'pipe', 'inherit'],
    });
  for (const name of packages.toSorted()) reprepro('includedeb', SUITE, join(release, name));
  reprepro('export', SUITE);
  const publicKey = execFileSync('gpg', ['--batch', '--armor', '--export', key]);
  writeFileSync(join(folder, 'public/postern.asc'), publicKey);
}

const places = (folder: string): string[] => [
  `--confdir=${join(folder, 'conf')}`,
  `--dbdir=${join(folder, 'db')}`,
  `--outdir=${join(folder, 'public')}`,
];

function distribution(key: string): string {
  return [
    'Origin: Postern',
    'Label: Postern',
    `Suite: ${SUITE}`,
    `Codename: ${SUITE}`,
    `Architectures: ${ARCHITECTURES.map(({ debian }) => debian).join(' ')}`,
    `Components: ${COMPONENT}`,
    'Description: Postern, a userspace VPN gateway',
    `SignWith: ${key}`,
    '',
  ].join('\n');
}

/** The key that APT_KEY names. */
export function keyOf({ APT_KEY: key } = process.env): string {
  if (key === undefined || key === '')
    throw new Error('APT_KEY is to name the key of gpg that signs, by its fingerprint');
  return key;
}
