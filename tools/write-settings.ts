// Writes the tables of settings into docs/reference/settings.md, each between its two marks.

import { readFileSync, writeFileSync } from 'node:fs';
import { configurationTable, settingsTable } from '../config/table.ts';

const path = new URL('../docs/reference/settings.md', import.meta.url);
const text = readFileSync(path, 'utf8');
const withSettings = between('settings', settingsTable(), text);
writeFileSync(path, between('configuration', configurationTable(), withSettings));

function between(mark: string, table: string, whole: string): string {
  const marked = new RegExp(`(<!-- ${mark} -->\\n)[\\s\\S]*(<!-- end of ${mark} -->)`);
  return whole.replace(marked, (_, begin: string, end: string) => `${begin}${table}\n${end}`);
}
