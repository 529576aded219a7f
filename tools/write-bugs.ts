// Writes the links of docs/bugs-of-others.md anew: npm run bugs.

import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { BUGS_PAGE, readPointers, withLinks } from './bugs.ts';

const text = withLinks(readFileSync(BUGS_PAGE, 'utf8'), readPointers());
const options = await resolveConfig(BUGS_PAGE);
writeFileSync(BUGS_PAGE, await format(text, { ...options, parser: 'markdown' }));
