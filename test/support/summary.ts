// Adds up what AVA's TAP reports say: prints every failure with its details, then, as the last
// line, "N passed, N failed". A skipped test, and a report that is cut off, are failures.

import { existsSync, readFileSync } from 'node:fs';

let passed = 0;
let failed = 0;

for (const name of process.argv.slice(2)) {
  const path = `${name}.tap`;
  if (!existsSync(path)) continue;
  const lines = readFileSync(path, 'utf8').split('\n');
  for (const [i, line] of lines.entries()) {
    if (/^ok .*# (SKIP|TODO)/.test(line)) failed += complain(line);
    else if (line.startsWith('ok ')) passed++;
    else if (line.startsWith('not ok '))
      failed += complain([line, ...detailsAfter(lines, i)].join('\n'));
  }
  if (!lines.some((line) => line.startsWith('# tests')))
    failed += complain(`${path} is cut off\n${errorsOf(name)}`);
}

process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

function complain(text: string): number {
  process.stdout.write(`${text}\n`);
  return 1;
}

/** The indented YAML block behind a failure. */
function detailsAfter(lines: readonly string[], index: number): string[] {
  const end = lines.findIndex((line, i) => i > index && !line.startsWith('  '));
  return lines.slice(index + 1, end === -1 ? undefined : end);
}

function errorsOf(name: string): string {
  const path = `${name}.err`;
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-4_000) : '';
}
