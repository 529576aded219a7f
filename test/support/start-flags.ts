// The flags that `npm start` gives to Node, so that what is tested and measured is what people run.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const PACKAGE = resolve(import.meta.dirname, '../../package.json');

/** In the order of the script; it is an error when there are none. */
export function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { scripts: { start: string } };
  const flags = scripts.start.split(' ').filter((word) => word.startsWith('--'));
  if (flags.length === 0) throw new Error('npm start gives no flags');
  return flags;
}
