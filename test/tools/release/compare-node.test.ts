// The Node of a release is compared with what its makers signed; here the makers are this test.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { compareNode, MAKERS } from '../../../tools/release/compare-node.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const VERSION = '24.99.0';
const folder = temporaryFolder('postern-makers-');
const home = join(folder, 'gnupg');
const dist = join(folder, `v${VERSION}`);
const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');
const gpg = (...words: string[]): string =>
  execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', '--yes', ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/** Makes archives as Node's makers do, and signs their hashes. */
function publish(program: (name: string) => string, sign: (sums: string) => string): void {
  let sums = '';
  for (const name of ['x64', 'arm64']) {
    const tree = `node-v${VERSION}-linux-${name}`;
    mkdirSync(join(folder, tree, 'bin'), { recursive: true });
    writeFileSync(join(folder, tree, 'bin/node'), program(name));
    const archive = join(dist, `${tree}.tar.gz`);
    execFileSync('tar', ['-czf', archive, '-C', folder, tree]);
    sums += `${sha256(readFileSync(archive))}  ${tree}.tar.gz\n`;
  }
  writeFileSync(join(folder, 'sums'), sign(sums));
  gpg('--clearsign', '--output', join(dist, 'SHASUMS256.txt.asc'), join(folder, 'sums'));
}

test('the program must be the one in the archive that was signed', (t) => {
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(dist);
  t.teardown(() => spawnSync('gpgconf', ['--homedir', home, '--kill', 'all']));
  const words = ['--passphrase', '', '--quick-generate-key', 'Makers <m@example.test>'];
  gpg(...words, 'ed25519', 'sign', 'never');
  const keys = `file://${join(folder, 'keys')}`;
  gpg('--export', '--output', join(folder, 'keys'));
  const makers = { archives: `file://${folder}`, keys };
  const pins = { version: VERSION, x64: sha256('node of x64'), arm64: sha256('node of arm64') };
  const own = (name: string): string => `node of ${name}`;
  const same = (sums: string): string => sums;

  publish(own, same);
  const names = ['x64', 'arm64'].map((name) => `node-v${VERSION}-linux-${name}`);
  t.deepEqual(compareNode(makers, pins), names);
  t.throws(() => compareNode(makers, { ...pins, arm64: sha256('another') }), {
    message: /for arm64 is .* for its makers, and .* here/,
  });

  publish(own, (sums) => sums.replace(/^\w/, (letter) => (letter === '0' ? '1' : '0')));
  t.throws(() => compareNode(makers, pins), { message: /x64\.tar\.gz is not the archive/ });

  publish(own, same);
  const signed = join(dist, 'SHASUMS256.txt.asc');
  const text = readFileSync(signed, 'utf8');
  writeFileSync(signed, text.replace(/node-v/, 'nope-v'));
  t.throws(() => compareNode(makers, pins), { message: /gpgv/ });
  t.true(Object.values(MAKERS).every((address) => address.startsWith('https://')));
});
