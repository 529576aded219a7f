// How a gateway is started here: by the script that `npm start`, the unit and the image run, so that
// what is tested and measured is what people run.

import { delimiter, dirname, resolve } from 'node:path';
import process from 'node:process';

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
