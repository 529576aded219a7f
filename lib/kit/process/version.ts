// The version of this program, which package.json says.

import { readFileSync } from 'node:fs';

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');

/** A semantic version: `1.1.0`, or `1.1.0-dev` before it is released. */
export const { version } = JSON.parse(manifest) as { version: string };
