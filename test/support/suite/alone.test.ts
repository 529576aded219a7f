// The list of files that run alone, and that no phase forgets them.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { alone } from './alone.ts';

test('each file that runs alone exists, so it runs at the end instead of nowhere', (t) => {
  t.true(alone.length > 0);
  t.is(new Set(alone).size, alone.length);
  for (const file of alone)
    t.true(existsSync(resolve(import.meta.dirname, '../../..', file)), file);
});
