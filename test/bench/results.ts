// RESULTS.md holds the latest report of each benchmark: a new one takes the place of the last.

import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('./RESULTS.md', import.meta.url);

/** Puts a report into the section of its benchmark, which is named by its command. */
export function keepResult(command: string, report: string): void {
  writeFileSync(PAGE, withReport(readFileSync(PAGE, 'utf8'), command, report));
}

/**
 * The page with `report`, which begins with a heading of the third level, in place of all reports of
 * the section `command`. What the section says before its first report stays. Throws where the page
 * has no such section.
 */
export function withReport(page: string, command: string, report: string): string {
  const sections = page.split(/^(?=## )/m);
  const at = sections.findIndex((section) => section.startsWith(`## ${command}\n`));
  const section = sections[at];
  if (section === undefined) throw new Error(`RESULTS.md has no section "${command}"`);
  const [about = ''] = section.split(/^(?=### )/m);
  const end = at === sections.length - 1 ? '\n' : '\n\n';
  sections[at] = `${about.trimEnd()}\n\n${report.trim()}${end}`;
  return sections.join('');
}
