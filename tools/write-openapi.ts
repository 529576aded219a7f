// Writes the golden OpenAPI document: `npm run openapi`, after a change that is meant.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../lib/api/openapi/document.ts';

const path = join(import.meta.dirname, '../test/golden/openapi.json');
writeFileSync(path, `${JSON.stringify(openApiDocument(''), null, 2)}\n`);
