// The bundle that whole gateways of tests run: dist/postern, made anew where its sources changed.
// test/all.sh makes it once; whoever runs one file makes it with the first gateway.

import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import { BUNDLE, isFresh } from '../../../tools/bundle.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

let isKnown = false;

/** The environment of a program. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The root that gateways are started from: the bundle, or this checkout by POSTERN_FROM. What is
 * loaded before the program changes modules of the checkout, so then they must be those that run.
 */
export function programRoot(environment: Environment = {}): string {
  const preloads = environment['NODE_OPTIONS']?.includes('--import=') === true;
  if (preloads || process.env['POSTERN_FROM'] === 'checkout') return ROOT;
  if (!isKnown && !isFresh(BUNDLE)) makeOnce();
  isKnown = true;
  return BUNDLE;
}

/** What Node is given to obey a command: the first file of the program that gateways run. */
export function programMain(environment: Environment = {}): string {
  const root = programRoot(environment);
  return resolve(root, root === BUNDLE ? 'lib/start/main.js' : 'lib/start/main.ts');
}

/** Test files run side by side: one makes the bundle, the others wait. */
function makeOnce(): void {
  mkdirSync(dirname(BUNDLE), { recursive: true });
  const command = [process.execPath, 'tools/write-bundle.ts', '--if-older'];
  const { status, stderr } = spawnSync('flock', [`${BUNDLE}.lock`, ...command], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the bundle was not made: ${stderr}`);
}
