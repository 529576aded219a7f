// The lists of files that run apart from the others, and that no phase forgets them.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { alone, fetching } from './alone.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const apart = [...alone, ...fetching];

test('each file that is left out of its phase exists, and is there once', (t) => {
  t.true(alone.length > 0 && fetching.length > 0);
  t.is(new Set(apart).size, apart.length);
  for (const file of apart) t.true(existsSync(resolve(ROOT, file)), file);
});

test('each file that fetches something has a phase', (t) => {
  const script = readFileSync(resolve(ROOT, 'test/all.sh'), 'utf8');
  for (const file of fetching) t.true(script.includes(` ${file}`), file);
});
