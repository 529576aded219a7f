// Writes the table of settings into config/README.md, between its two marks.

import { readFileSync, writeFileSync } from 'node:fs';
import { settingsTable } from './table.ts';

const path = new URL('./README.md', import.meta.url);
const text = readFileSync(path, 'utf8');
writeFileSync(
  path,
  text.replace(
    /(<!-- settings -->\n)[\s\S]*(<!-- end of settings -->)/,
    (_, begin: string, end: string) => `${begin}${settingsTable()}\n${end}`,
  ),
);
