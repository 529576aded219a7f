// Writes the site into dist/site/: `npm run site`.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { makeSite } from './site/site.ts';

const OUTPUT = resolve(import.meta.dirname, '../dist/site');

const site = await makeSite();
rmSync(OUTPUT, { recursive: true, force: true });
for (const [address, content] of site) {
  const path = join(OUTPUT, address);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
process.stdout.write(`${OUTPUT}: ${site.size} files\n`);
