// Reads reports of AVA in the Test Anything Protocol, and says how to repeat a test that failed.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');
/** What AVA puts between the parts of a path, and before the title of a test. */
const SEPARATOR = ' › ';
/** A part of a path that is the file of a shared process (support/suite/sharing.ts). */
const OF_PROCESS = /^artefacts › processes › [^›]+ › \d+ › /;

/** What a report says of one test, or of a file that ended badly. */
export interface Result {
  /** The path of the file in parts and the title of the test, as AVA joins them. */
  name: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** The lines behind a failure. */
  details: string[];
}

/** The results of a report. */
export function readTap(text: string): Result[] {
  const lines = text.split('\n');
  return lines.flatMap((line, i) => {
    const result = readLine(line);
    if (result === null) return [];
    return [{ ...result, details: result.outcome === 'failed' ? detailsAfter(lines, i) : [] }];
  });
}

/** The result in one line, without its details; null if it holds none. */
export function readLine(line: string): Omit<Result, 'details'> | null {
  const [, not, name] = /^(not )?ok \d+ - (.*)$/.exec(line) ?? [];
  if (name === undefined) return null;
  if (not !== undefined) return { name, outcome: 'failed' };
  return { name, outcome: /# (SKIP|TODO)/.test(name) ? 'skipped' : 'passed' };
}

/**
 * What people read of a result that is no pass: its details, and the command that repeats it.
 * `variables` come before the command.
 */
export function failureText(
  { name, outcome, details }: Result,
  folder: string,
  variables = '',
): string {
  const command = commandFor(name, folder);
  const again = command === null ? [] : [`  again: ${variables}${command}`];
  return [`${outcome}: ${name}`, ...details, ...again].join('\n');
}

/** Whether a report has its last line. */
export function isWhole(text: string): boolean {
  return /^# tests /m.test(text);
}

/**
 * The command that runs a failed test again, alone; null where the name holds no file. `folder`: that
 * of the files, as names have the parts below it only.
 */
export function commandFor(name: string, folder: string): string | null {
  const [ended] = /\S+\.test\.ts(?= exited)/.exec(name) ?? [];
  if (ended !== undefined) return existsSync(join(ROOT, ended)) ? `npx ava ${ended}` : null;
  const parts = name.replace(OF_PROCESS, '').split(SEPARATOR);
  for (let end = parts.length - 1; end > 0; end--) {
    const path = `${parts.slice(0, end).join('/')}.test.ts`;
    const file = [`test/${path}`, join(folder, path)].find((each) => existsSync(join(ROOT, each)));
    if (file === undefined) continue;
    const config = /^test\/(attacks|browser|e2e|ops)\//.exec(file);
    const title = parts.slice(end).join(SEPARATOR);
    return [
      ...(title.startsWith('mariadb') ? ['DATABASES=mariadb'] : []),
      'npx ava',
      ...(config === null ? [] : [`--config ${config[0]}ava.config.js`]),
      file,
      `--match '${title.replaceAll("'", "'\\''")}'`,
    ].join(' ');
  }
  return null;
}

/** The indented block behind a failure. */
function detailsAfter(lines: readonly string[], index: number): string[] {
  let end = index + 1;
  while (lines[end]?.startsWith('  ') === true) end++;
  return lines.slice(index + 1, end);
}
