// Adds up what the phases of test/all.sh left: prints what each took and every failure with its
// details, then, as the last line, "N passed, N failed". A skipped test, a report that is cut off, and
// a phase that failed without a word are failures.

import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { type Phase, readPhases, secondsTable } from './seconds-table.ts';

const SECONDS = 'test/artefacts/seconds';

let passed = 0;
let failed = 0;

const phases = readPhases(SECONDS);
process.stdout.write(secondsTable(SECONDS, `${SECONDS}.txt`));
for (const phase of phases) add(phase);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

function add({ phase, status }: Phase): void {
  const before = failed;
  const path = `test-${phase}.tap`;
  if (existsSync(path)) addReport(path, phase);
  if (status !== 0 && failed === before)
    complain(`${phase} ended with status ${status}\n${errorsOf(phase)}`);
}

function addReport(path: string, phase: string): void {
  const lines = readFileSync(path, 'utf8').split('\n');
  for (const [i, line] of lines.entries()) {
    if (/^ok .*# (SKIP|TODO)/.test(line)) complain(line);
    else if (line.startsWith('ok ')) passed++;
    else if (line.startsWith('not ok ')) complain([line, ...detailsAfter(lines, i)].join('\n'));
  }
  if (!lines.some((line) => line.startsWith('# tests')))
    complain(`${path} is cut off\n${errorsOf(phase)}`);
}

function complain(text: string): void {
  failed++;
  process.stdout.write(`${text}\n`);
}

/** The indented YAML block behind a failure. */
function detailsAfter(lines: readonly string[], index: number): string[] {
  const end = lines.findIndex((line, i) => i > index && !line.startsWith('  '));
  return lines.slice(index + 1, end === -1 ? undefined : end);
}

function errorsOf(phase: string): string {
  const path = `test-${phase}.err`;
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-4_000) : '';
}
