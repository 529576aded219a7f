// The list of files that run after the others.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { alone } from './alone.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

test('each file that is left out of its phase exists, and is there once', (t) => {
  t.true(alone.length > 0);
  t.is(new Set(alone).size, alone.length);
  for (const file of alone) t.true(existsSync(resolve(ROOT, file)), file);
});
