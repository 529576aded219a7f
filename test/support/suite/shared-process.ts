// Runs many test files in one process, one file after the other. A process of its own costs a test
// file about a second of a processor before its first test begins, and it forgets all compiled code.
// The files import an `ava` that only collects their tests (collected.ts); when all files are loaded,
// this file declares the tests to the real one, each with its file in the title.

import { registerHooks } from 'node:module';
import { relative, resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import ava, { registerCompletionHandler } from 'ava';
import { type CollectedTest, hooks, takeCollected } from './collected.ts';
import { noteSeconds, secondsNow } from './seconds.ts';

/** How long a process whose tests have ended may stay for what one of them left open. */
const LEFT_OPEN_MS = 30_000;
const SUITE = new URL('.', import.meta.url).href;
const COLLECTOR = new URL('collected.ts', SUITE).href;

/** Loads test files, given as paths from the root of the repository, and declares their tests. */
export async function runInOneProcess(files: readonly string[]): Promise<void> {
  registerCompletionHandler(() => void setTimeout(endAnyway, LEFT_OPEN_MS).unref());
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'ava' && context.parentURL?.startsWith(SUITE) !== true
        ? { url: COLLECTOR, shortCircuit: true }
        : next(specifier, context),
  });
  const loaded: { file: string; tests: CollectedTest[] }[] = [];
  for (const file of files) {
    await import(pathToFileURL(resolve(file)).href);
    loaded.push({ file: relative(process.cwd(), resolve(file)), tests: takeCollected() });
  }
  // AVA takes declarations until the next tick.
  for (const { title, body } of hooks) ava.afterEach.always(title, body);
  let before = Promise.resolve();
  for (const { file, tests } of loaded) before = declareFile(file, tests, before);
}

/** Ends the process, or a run would wait for ever, and says what is open. */
function endAnyway(): never {
  const open = process.getActiveResourcesInfo().join(', ');
  process.stderr.write(`The tests of a shared process left open: ${open}\n`);
  process.exit();
}

/** Declares the tests of a file; they begin after `before`. The promise resolves when all ended. */
async function declareFile(
  file: string,
  tests: readonly CollectedTest[],
  before: Promise<void>,
): Promise<void> {
  let turn = before;
  for (const test of tests.filter(({ isSerial }) => isSerial)) turn = declare(file, test, turn);
  const others = tests.filter(({ isSerial }) => !isSerial);
  const ends = others.map((test) => declare(file, test, turn));
  await before;
  const began = secondsNow();
  await Promise.all([turn, ...ends]);
  noteSeconds(file, began);
}

/** Declares a test that begins after `turn`. The promise resolves when its last teardown ran. */
function declare(file: string, { title, body }: CollectedTest, turn: Promise<void>): Promise<void> {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  ava(`${file.replace(/^test\/|\.test\.ts$/g, '')} › ${title}`, async (t) => {
    await turn;
    t.teardown(end);
    await body(t);
  });
  return promise;
}
