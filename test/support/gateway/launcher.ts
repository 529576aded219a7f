// How a gateway is started here: by the script that `npm start`, the unit and the image run, so that
// what is tested and measured is what people run.

import { chownSync, mkdirSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { temporaryFolder } from '../suite/temporary-folder.ts';
import { programRoot } from './bundle.ts';

/** The launcher of a checkout; a gateway is started by it with the word `serve`. */
export const launcherOf = (root: string): string => resolve(root, 'lib/postern');

/** The launcher of this checkout. */
export const LAUNCHER = launcherOf(resolve(import.meta.dirname, '../../..'));

/** A PATH in which `node` is the Node that runs this process. */
export const PATH_TO_NODE = [dirname(process.execPath), process.env['PATH']].join(delimiter);

/**
 * For a gateway whose test is not about the packet path: its workers do not compile that path before
 * they serve (config/launch.ts), so a start takes a quarter less.
 */
export const WITHOUT_WARM_UP: Readonly<Record<string, string>> = { POSTERN_WARM_UP: 'off' };

/** Where compiled code of tests is kept, for a process that is given few variables. */
export const COMPILE_CACHE: Readonly<Record<string, string>> =
  process.env['NODE_COMPILE_CACHE'] === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };

/**
 * For a gateway whose test is not about what passwords cost: it hashes them at the least cost, so the
 * first start takes a quarter of a second of a processor less.
 */
export const CHEAP_PASSWORDS: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--require=${resolve(import.meta.dirname, '../suite/cheap-passwords.cjs')}`,
};

/** What a gateway is started with. */
export interface RootlessStart {
  readonly settings: Readonly<Record<string, string>>;
  readonly wrapper: readonly string[];
}

const NOBODY = 65_534;
/**
 * Becomes the launcher, as a user who owns nothing but its folder. The user sees the program, Node,
 * and a TUN that everybody may open, as udev makes it, at places of its own.
 */
const AS_NOBODY = `
  mount --bind "$PROGRAM" "$OWN/program"
  mount --bind "$NODE" "$OWN/node"
  mount -t tmpfs -o mode=755 tmpfs "$OWN/dev"
  mknod -m 0666 "$OWN/dev/tun" c 10 200 && mount --bind "$OWN/dev/tun" /dev/net/tun
  exec setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups "$OWN/program/lib/postern" serve-rootless`;

/**
 * Makes a folder for a user without rights, and says how the gateway is started there. What its
 * environment preloads of the program comes from the place at which the user has it.
 */
export function withoutRoot(environment: Readonly<Record<string, string>> = {}): RootlessStart {
  const own = temporaryFolder('postern-rootless-');
  for (const name of ['', 'program', 'node', 'dev', 'data', 'cache']) {
    if (name !== '') mkdirSync(join(own, name));
    chownSync(join(own, name), NOBODY, NOBODY);
  }
  const program = programRoot(environment);
  const preloaded = environment['NODE_OPTIONS'];
  const settings = {
    OWN: own,
    PROGRAM: program,
    NODE: dirname(process.execPath),
    PATH: `${own}/node:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: own,
    DATA_DIR: join(own, 'data'),
    NODE_COMPILE_CACHE: join(own, 'cache'),
    ...(preloaded === undefined
      ? {}
      : { NODE_OPTIONS: preloaded.replaceAll(`${program}/`, `${own}/program/`) }),
  };
  return { settings, wrapper: ['unshare', '--mount', 'sh', '-euc', AS_NOBODY] };
}
