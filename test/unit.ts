// Runs the unit tests, all that needs neither root nor a browser: npm test. Many files share a process
// (support/suite/sharing.ts). Files that are named on the command line have each a process of their
// own, with the reporter and the options of AVA.

import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { Progress } from './support/report/progress.ts';
import { readLines } from './support/report/seconds-table.ts';
import { failureText, isWhole, readLine, readTap } from './support/report/tap.ts';
import { findTests, unitTests } from './support/suite/sharing.ts';
import type { FileSeconds } from './support/suite/seconds.ts';

const ROOT = resolve(import.meta.dirname, '..');
const AVA = join(ROOT, 'node_modules/ava/entrypoints/cli.js');
const SECONDS = join(ROOT, 'test/artefacts/npm-test.jsonl');
const SHOW_MS = 500;
const HELP = `npm test                     runs all unit tests
npm test -- FILE…            runs these files, each in a process of its own
npm test -- FILE --match 'title of a test'
                             runs one test; more options: npx ava --help
npm run test:all             also the tests that need root, a browser, MariaDB
`;

const named = process.argv.slice(2);
if (named.includes('--help')) process.stdout.write(HELP);
else process.exitCode = named.length > 0 ? await runNamed(named) : await runAll();

/** Runs AVA as it is. Returns its exit code. */
function runNamed(options: readonly string[]): Promise<number> {
  const ava = spawn(process.execPath, [AVA, ...options], { cwd: ROOT, stdio: 'inherit' });
  return new Promise((done) => ava.on('close', (code) => done(code ?? 1)));
}

/** Runs all unit tests. Returns the exit code: 0 if all of them passed. */
async function runAll(): Promise<number> {
  const began = performance.now();
  const files = findTests(unitTests);
  const databases = process.env['DATABASES'] ?? 'sqlite';
  process.stdout.write(
    `${files.length} files of unit tests on ${databases}; one of them alone: npm test -- FILE\n`,
  );
  mkdirSync(dirname(SECONDS), { recursive: true });
  rmSync(SECONDS, { force: true });
  const progress = new Progress(process.stdout, files.length);
  const ended = new Set<string>();
  const show = (): void => {
    for (const line of readLines<FileSeconds>(SECONDS))
      if (files.includes(line.file) && !ended.has(line.file)) {
        ended.add(line.file);
        progress.endFile(line);
      }
    progress.show((performance.now() - began) / 1_000);
  };
  const timer = setInterval(show, SHOW_MS);
  // AVA has the same signal of the terminal, and reports what it has.
  process.on('SIGINT', () => {});
  const { status, report, errors } = await runShared(progress);
  clearInterval(timer);
  show();
  progress.clear();
  for (const result of readTap(report))
    if (result.outcome !== 'passed') process.stdout.write(`\n${failureText(result, 'test')}\n`);
  const isComplete = isWhole(report);
  if (!isComplete || (status !== 0 && progress.failed === 0))
    process.stdout.write(`\nthe run ended early, with status ${status}\n${errors}\n`);
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  process.stdout.write(`\n${progress.passed} passed, ${progress.failed} failed (${minutes} min)\n`);
  return status === 0 && isComplete && progress.failed === 0 && progress.passed > 0 ? 0 : 1;
}

/** Runs the files in shared processes, and says of each test that ended whether it passed. */
async function runShared(
  progress: Progress,
): Promise<{ status: number; report: string; errors: string }> {
  const ava = spawn(process.execPath, [AVA, '--tap', '--config', 'test/shared.config.js'], {
    cwd: ROOT,
    env: { ...process.env, TEST_SECONDS: SECONDS },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  createInterface({ input: ava.stdout }).on('line', (line) => {
    lines.push(line);
    const result = readLine(line);
    if (result?.outcome === 'passed') progress.pass();
    else if (result !== null) progress.fail(result.name);
  });
  let errors = '';
  ava.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-8_000)));
  const status = await new Promise<number>((done) => ava.on('close', (code) => done(code ?? 1)));
  return { status, report: lines.join('\n'), errors };
}
