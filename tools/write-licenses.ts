// Writes LICENSES.md anew: npm run licenses.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { licensesPage, productionDependencies } from './licenses.ts';

const path = join(import.meta.dirname, '../LICENSES.md');
writeFileSync(path, licensesPage(productionDependencies()));
