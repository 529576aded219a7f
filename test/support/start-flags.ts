// What `npm start` gives to Node, so that what is tested and measured is what people run.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const PACKAGE = resolve(import.meta.dirname, '../../package.json');

function words(): string[] {
  const { scripts } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { scripts: { start: string } };
  return scripts.start.split(' ');
}

/** In the order of the script; it is an error when there are none. */
export function startFlags(): string[] {
  const flags = words().filter((word) => word.startsWith('--'));
  if (flags.length === 0) throw new Error('npm start gives no flags');
  return flags;
}

/** The variables that the script sets before the program; it is an error when there are none. */
export function startEnvironment(): Record<string, string> {
  const before = words().slice(0, words().indexOf('exec'));
  if (before.length === 0) throw new Error('npm start sets no variables');
  return Object.fromEntries(
    before.map((assignment) => {
      const [name = '', value = ''] = assignment.split('=');
      return [name, value];
    }),
  );
}
