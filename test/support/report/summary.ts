// Adds up what the phases of test/all.sh left: prints what each took and every failure with its
// details, then, as the last line, "N passed, N failed". A skipped test, a report that is cut off, and
// a phase that failed without a word are failures.

import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { readBudget, whatGrew } from './budget.ts';
import { type Phase, readPhases, readRooms, secondsTable } from './seconds-table.ts';
import { failureText, isWhole, readTap } from './tap.ts';

const SECONDS = 'test/artefacts/seconds';

let passed = 0;
let failed = 0;

const phases = readPhases(SECONDS);
process.stdout.write(secondsTable(SECONDS, `${SECONDS}.txt`));
for (const line of whatGrew(readRooms(SECONDS), readBudget())) process.stdout.write(`${line}\n`);
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
  const text = readFileSync(path, 'utf8');
  const [wing, workers] = phase.split('-');
  const variables = /^\d$/.test(workers ?? '') && wing !== 'ops' ? `WORKERS=${workers} ` : '';
  for (const result of readTap(text))
    if (result.outcome === 'passed') passed++;
    else complain(`${phase}: ${failureText(result, `test/${wing}`, variables)}`);
  if (!isWhole(text)) complain(`${path} is cut off\n${errorsOf(phase)}`);
}

function complain(text: string): void {
  failed++;
  process.stdout.write(`${text}\n`);
}

function errorsOf(phase: string): string {
  const path = `test-${phase}.err`;
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-4_000) : '';
}
