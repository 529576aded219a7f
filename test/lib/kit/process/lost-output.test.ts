// Commands whose output cannot be written: nobody reads it any more, or the disk is full.

import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import test from 'ava';

const ROOT = resolve(import.meta.dirname, '../../../..');

/** Runs a command that prints; its exit code, and what it says on standard error. */
async function run(stdio: StdioOptions, ...words: string[]): Promise<[number | null, string]> {
  const child = spawn(process.execPath, ['lib/start/main.ts', ...words], { cwd: ROOT, stdio });
  child.stdout?.destroy();
  const ended = once(child, 'close');
  const said = child.stderr === null ? '' : await text(child.stderr);
  const [code] = (await ended) as [number | null];
  return [code, said];
}

test('a command whose reader is gone ends as it would have', async (t) => {
  t.deepEqual(await run(['ignore', 'pipe', 'pipe'], 'help'), [0, '']);
  t.deepEqual(await run(['ignore', 'pipe', 'pipe'], 'device', '--help'), [0, '']);
});

test('a command whose output finds no room says so in a sentence', async (t) => {
  const full = openSync('/dev/full', 'w');
  t.teardown(() => closeSync(full));
  const [code, said] = await run(['ignore', full, 'pipe'], 'help');
  t.is(code, 1);
  t.is(
    said,
    'what this command prints cannot be written: ENOSPC: no space left on device, write\n',
  );
});
