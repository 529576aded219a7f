// A list that is shown again and again: on a terminal in its place, on a pipe when it has changed,
// until somebody ends it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import { type Shows, watch } from '../../../lib/start/watch.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const CLEAR_BELOW = '\u001B[J\u001B[?7h';

async function optionsOf(...words: string[]) {
  const parsed = await parseCommandLine(words);
  if (!('command' in parsed)) throw new Error(JSON.stringify(parsed));
  return parsed.command.options;
}

/** Shows texts one after the other, then ends; what was written. */
async function shown(
  texts: readonly string[],
  terminal: Partial<Shows> = {},
  typed = optionsOf('device', 'list', '--watch'),
): Promise<string[]> {
  const ending = new AbortController();
  const written: string[] = [];
  const listeners = new Set<() => void>();
  const output: Shows = {
    ...terminal,
    write: (text) => written.push(text),
    on: (_event, listener) => listeners.add(listener),
    off: (_event, listener) => listeners.delete(listener),
  };
  const left = [...texts];
  const look = async (): Promise<Outcome> => {
    const text = left.shift() ?? '';
    if (left.length === 0) ending.abort();
    return { text, data: text };
  };
  const code = await watch(look, await typed, output, { lookMs: 1, ending });
  if (code !== 0 || listeners.size > 0) throw new Error(`${code}, ${listeners.size} listeners`);
  return written;
}

test('a pipe gets a table when something changed, with an empty line between', async (t) => {
  t.deepEqual(await shown(['A\nb', 'A\nb', 'A\nc', 'A\nc', 'A']), ['A\nb\n', '\nA\nc\n', '\nA\n']);
  const json = optionsOf('device', 'list', '--watch', '--json');
  const terminal = { isTTY: true };
  t.deepEqual(await shown(['a', 'a', 'b'], terminal, json), ['"a"\n', '"b"\n']);
});

test('a terminal gets lines in the place of the lines before, each by one write', async (t) => {
  const [first, second, third, ...rest] = await shown(['A\nb', 'A\nb', 'A\nb\nc', 'A'], {
    isTTY: true,
    rows: 24,
  });
  t.is(first, `\u001B[?7lA\u001B[K\nb\u001B[K\n${CLEAR_BELOW}`);
  t.is(second, `\u001B[2A\r\u001B[?7lA\u001B[K\nb\u001B[K\nc\u001B[K\n${CLEAR_BELOW}`);
  t.is(third, `\u001B[3A\r\u001B[?7lA\u001B[K\n${CLEAR_BELOW}`);
  t.deepEqual(rest, ['\n'], 'the end');
});

test('a list that is longer than the terminal is cut, so that nothing scrolls', async (t) => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
  const [first = '', second = ''] = await shown([lines.join('\n'), 'A'], { isTTY: true, rows: 10 });
  t.is(first.split('\n').length - 1, 9);
  t.true(first.includes('line 7\u001B[K\n… 22 lines more\u001B[K\n'));
  t.true(second.startsWith('\u001B[9A\r'));
});

// Alone, because it counts listeners of the process.
test.serial('what fails ends it with its error, and no listener stays', async (t) => {
  const before = process.listenerCount('SIGINT');
  const look = async (): Promise<Outcome> => {
    throw new Error('the database is away');
  };
  const output: Shows = { write: () => true, on: () => output, off: () => output };
  const watched = watch(look, await optionsOf('device', 'list', '--watch'), output);
  await t.throwsAsync(watched, { message: 'the database is away' });
  t.is(process.listenerCount('SIGINT'), before);
});

/** Runs commands on a database of its own. */
async function openCommands() {
  const folder = temporaryFolder('postern-watch-');
  const env = { PATH: process.env['PATH'], DATA_DIR: folder, LOG_LEVEL: 'error' };
  const run = (...words: string[]) =>
    spawn(join(ROOT, 'lib/postern'), words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [made] = (await once(run('migrate'), 'exit')) as [number];
  if (made !== 0) throw new Error(`migrate ended with ${made}`);
  return run;
}

test('Ctrl+C ends a command that watches, and it did what it was asked for', async (t) => {
  const run = await openCommands();
  const child = run('user', 'list', '--watch', '--json');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  t.is(line.toString(), '[]\n');
  const grown = once(child.stdout, 'data') as Promise<[Buffer]>;
  await once(run('user', 'create', '--email', 'ann@example.com', '--no-password'), 'exit');
  const [next] = await grown;
  t.regex(next.toString(), /^\[\{.*"ann@example\.com".*\}\]\n$/);
  child.kill('SIGINT');
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  t.is(code, 0);
  t.is(signal, null);
});

test('the next change ends a command whose reader has left', async (t) => {
  const run = await openCommands();
  const child = run('user', 'list', '--watch', '--json');
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const ended = once(child, 'exit');
  await once(run('user', 'create', '--email', 'ann@example.com', '--no-password'), 'exit');
  t.deepEqual(await ended, [0, null]);
});
