// The corpus: every input that ever made a target fail, or reached what no other did, is tried.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { targets } from './targets/index.ts';

for (const [name, target] of Object.entries(targets))
  test(`${name}: no input of the corpus makes it fail`, (t) => {
    t.timeout(120_000);
    const folder = join(import.meta.dirname, 'corpus', name);
    t.true(existsSync(folder));
    const files = readdirSync(folder);
    t.true(files.length > 0);
    for (const file of files)
      t.notThrows(() => target(new Uint8Array(readFileSync(join(folder, file)))), file);
  });
