// Writes the generated pages; a test compares them.

import { writeFileSync } from 'node:fs';
import { generatedPages, pathOf } from './documents.ts';

for (const [path, text] of await generatedPages()) writeFileSync(pathOf(path), text);
