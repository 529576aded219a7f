// The same version is shown wherever Postern says which one it is.

import test from 'ava';
import { openApiDocument } from '../../../lib/api/openapi/document.ts';
import { version } from '../../../lib/process/version.ts';

test('the version is a semantic one, and the OpenAPI document has it', (t) => {
  t.regex(version, /^\d+\.\d+\.\d+$/);
  const { info } = openApiDocument('') as { info: { version: string } };
  t.is(info.version, version);
});
