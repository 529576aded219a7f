// Writes the links of docs/faults-of-others.md anew: npm run faults.

import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { FAULTS_PAGE, readPointers, withLinks } from './faults.ts';

const text = withLinks(readFileSync(FAULTS_PAGE, 'utf8'), readPointers());
const options = await resolveConfig(FAULTS_PAGE);
writeFileSync(FAULTS_PAGE, await format(text, { ...options, parser: 'markdown' }));
