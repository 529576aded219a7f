// What `--version` says of the schema and of the operations of the API, as a file of constants: the
// command itself is answered without loading either of them.

import { join } from 'node:path';
import { openApiDocument } from '../lib/api/openapi/document.ts';
import { hashOfLines } from '../lib/kit/operations/build.ts';
import { lastStep, readLatest } from '../models/index.ts';

/** The file. */
export const FINGERPRINT = join(import.meta.dirname, '../lib/start/made-of.ts');

/** Its text. */
export function fingerprintText(): string {
  const { paths } = openApiDocument('') as { paths: Record<string, object> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  return `// What this program is made of, for --version. npm run openapi and npm run schema write
// this file; test/lib/start/fingerprint.test.ts proves that it is up to date.

/** The last migration. */
export const SCHEMA = '${lastStep()}';
/** A hash of the schema and of the operations of the API. */
export const BUILD = '${hashOfLines(readLatest(), operations)}';
`;
}
