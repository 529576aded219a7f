// Writes the golden OpenAPI document, and what `--version` says: `npm run openapi`, after a change
// that is meant.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../lib/api/openapi/document.ts';
import { FINGERPRINT, fingerprintText } from './fingerprint.ts';

const path = join(import.meta.dirname, '../test/golden/openapi.json');
writeFileSync(path, `${JSON.stringify(openApiDocument(''), null, 2)}\n`);
writeFileSync(FINGERPRINT, fingerprintText());
