// Makes the release: `npm run release` leaves postern-<version>-linux-<architecture>.tar.gz, the
// bundle with its addon, the unit of systemd and the documents. It is for hosts that have Node, but
// neither npm nor a compiler.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { DOCUMENTS, makeBundle } from './bundle.ts';

const ROOT = join(import.meta.dirname, '..');
const ADDON = 'dataplane/native/build/Release/postern.node';

const staging = mkdtempSync(join(tmpdir(), 'postern-release-'));
try {
  const folder = join(staging, 'postern');
  await makeBundle(folder);
  if (!existsSync(join(folder, ADDON)))
    throw new Error(
      'the addon was not built, and a release needs it; npm run build:native says why',
    );
  for (const name of DOCUMENTS) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const archive = `postern-${version}-linux-${process.arch}.tar.gz`;
  const words = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '-C', staging];
  execFileSync('tar', ['-czf', archive, ...words, 'postern'], { stdio: 'inherit' });
  process.stdout.write(`${archive}\n`);
} finally {
  rmSync(staging, { recursive: true, force: true });
}
