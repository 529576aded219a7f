// Loaded into every process that runs a test file (processes.js): at its end it adds a line to the
// file of TEST_SECONDS with what the test file took. test/all.sh makes a table of these lines.

import { appendFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { TestFn } from 'ava';

/** What one test file took, in seconds. */
export interface FileSeconds {
  file: string;
  wall: number;
  /** Of processors: its own process, and the processes that it waited for. */
  cpu: number;
}

const path = process.env['TEST_SECONDS'];
if (path !== undefined)
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    const line: FileSeconds = {
      file: relative(process.cwd(), testFile()),
      wall: performance.now() / 1_000,
      cpu: (user + system) / 1e6 + childSeconds(),
    };
    appendFileSync(path, `${JSON.stringify(line)}\n`);
  });

/** The test file; AVA is asked at the end, since a file that does not load it is a fault. */
function testFile(): string {
  const { default: test } = createRequire(import.meta.url)('ava') as { default: TestFn };
  return fileURLToPath(test.meta.file);
}

/** Seconds of processor of the children that ended; the kernel counts them in ticks of 10 ms. */
function childSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}
