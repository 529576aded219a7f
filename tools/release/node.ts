// The Node of a release: that of the registry's packages, in the version that a checkout installs.
// node.json has the hash of each program, because the lock file has none for them.

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { type Architecture, toolFor } from './architectures.ts';
import { hashOf } from './sums.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const INSTALLED = join(ROOT, 'node_modules/node');

interface Pins {
  readonly version: string;
  readonly x64: string;
  readonly arm64: string;
}

/** The version of Node in a release, and the SHA-256 of its programs. */
export const PINS = JSON.parse(
  readFileSync(join(import.meta.dirname, 'node.json'), 'utf8'),
) as Pins;

/** The folder above the headers of Node, which are the same for every machine. */
export const HEADERS = join(INSTALLED, `node_modules/node-linux-${process.arch}`);

/** Puts Node into `folder`, with its licence and what the launcher reads. */
export function addNode(folder: string, architecture: Architecture): void {
  const staging = mkdtempSync(join(tmpdir(), 'postern-node-'));
  try {
    const from = fetched(staging, architecture);
    const program = join(from, 'bin/node');
    const hash = hashOf(program);
    if (hash !== PINS[architecture.name])
      throw new Error(
        `${program} has the SHA-256 ${hash}, and tools/release/node.json another for ` +
          `${architecture.name} of Node ${PINS.version}`,
      );
    const runtime = join(folder, 'runtime');
    mkdirSync(runtime);
    const made = join(runtime, 'node');
    execFileSync(toolFor(architecture, 'strip'), ['-o', made, program], { stdio: 'inherit' });
    cpSync(join(from, 'LICENSE'), join(runtime, 'LICENSE'));
    const { loader, name } = architecture;
    writeFileSync(join(runtime, 'loader'), `${loader} linux ${name}\n`);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** The package of the machine: the installed one, or else that of the registry. */
function fetched(staging: string, { name }: Architecture): string {
  const installed = join(INSTALLED, `node_modules/node-linux-${name}`);
  if (existsSync(join(installed, 'bin/node'))) return installed;
  const words = ['pack', '--silent', `--pack-destination=${staging}`];
  const archive = execFileSync('npm', [...words, `node-linux-${name}@${PINS.version}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
  const files = ['package/bin/node', 'package/LICENSE'];
  execFileSync('tar', ['-xzf', join(staging, archive), '-C', staging, ...files]);
  return join(staging, 'package');
}
