// Loaded into every process that runs test files (processes.js): it adds a line to the file of
// TEST_SECONDS with what each test file took. test/all.sh makes a table of these lines.

import { appendFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { TestFn } from 'ava';

/** What this process took so far, in seconds. */
export interface Seconds {
  wall: number;
  /** Of processors: its own, and of the processes that it waited for. */
  cpu: number;
}

/** What one test file took, in seconds. */
export interface FileSeconds extends Seconds {
  file: string;
}

const path = process.env['TEST_SECONDS'];
/** What files that share this process took; the rest is that of the file that AVA knows. */
const noted: Seconds = { wall: 0, cpu: 0 };

if (path !== undefined) process.on('exit', () => addLine(testFile(), secondsNow(), noted));

/** Measures what this process took so far. */
export function secondsNow(): Seconds {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now() / 1_000, cpu: (user + system) / 1e6 + childSeconds() };
}

/** Notes that a test file, a path from the root of the repository, took all since `began`. */
export function noteSeconds(file: string, began: Seconds): void {
  const now = secondsNow();
  noted.wall += now.wall - began.wall;
  noted.cpu += now.cpu - began.cpu;
  addLine(file, now, began);
}

function addLine(file: string, now: Seconds, before: Seconds): void {
  if (path === undefined) return;
  const line: FileSeconds = { file, wall: now.wall - before.wall, cpu: now.cpu - before.cpu };
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}

/** The test file; AVA is asked at the end, since a file that does not load it is an error. */
function testFile(): string {
  const { default: test } = createRequire(import.meta.url)('ava') as { default: TestFn };
  return relative(process.cwd(), fileURLToPath(test.meta.file));
}

/** Seconds of processor of the children that ended; the kernel counts them in ticks of 10 ms. */
function childSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}
