// Wherever Postern shows its version, it is that of package.json.

import test from 'ava';
import { openApiDocument } from '../../../../lib/api/openapi/document.ts';
import { version } from '../../../../lib/kit/process/version.ts';

test('the version is a semantic one, and the OpenAPI document has it', (t) => {
  t.regex(version, /^\d+\.\d+\.\d+(-dev)?$/);
  const { info } = openApiDocument('') as { info: { version: string } };
  t.is(info.version, version);
});
