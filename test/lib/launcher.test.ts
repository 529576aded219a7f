// The launcher, with a `node` that only prints what it was given.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { LAUNCHER, PATH_TO_NODE } from '../support/gateway/launcher.ts';

const LIB = resolve(import.meta.dirname, '../../lib');
/** Prints its process number, what surrounds it, and one argument a line. */
const PRINTER = `#!/bin/sh
echo "pid=$$"
for name in MALLOC_ARENA_MAX MALLOC_TRIM_THRESHOLD_ NODE_COMPILE_CACHE; do
  eval "echo $name=\\$$name"
done
for word; do echo "word=$word"; done
exit 7
`;

interface Given {
  /** Whether the program is the process that was started. */
  readonly isSameProcess: boolean;
  readonly environment: Record<string, string>;
  readonly words: string[];
}

/** Runs the launcher, which then ends as the program does, and tells what that was given. */
function given(
  t: ExecutionContext,
  words: readonly string[],
  { environment = {}, path = LAUNCHER, onPath = '/nowhere' } = {},
): Given {
  const folder = mkdtempSync(join(tmpdir(), 'postern-launcher-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const node = join(folder, 'node');
  writeFileSync(node, PRINTER);
  chmodSync(node, 0o755);
  const shell = `echo "shell=$$"; exec "$0" "$@"`;
  const lines = linesOf(() =>
    execFileSync('sh', ['-c', shell, path, ...words], {
      env: { PATH: `${folder}:${PATH_TO_NODE}:${onPath}`, ...environment },
      cwd: '/',
      encoding: 'utf8',
    }),
  );
  const pairs = lines.map((line) => [
    line.slice(0, line.indexOf('=')),
    line.slice(line.indexOf('=') + 1),
  ]);
  const {
    shell: shellPid,
    pid,
    word: _,
    ...rest
  } = Object.fromEntries(pairs) as Record<string, string>;
  return {
    isSameProcess: shellPid === pid,
    environment: rest,
    words: pairs.filter(([name]) => name === 'word').map(([, value]) => value ?? ''),
  };
}

/** What a program printed that ended with 7. */
function linesOf(run: () => string): string[] {
  try {
    run();
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string };
    if (status === 7) return stdout.trim().split('\n');
    throw error;
  }
  throw new Error('the exit code was lost');
}

test('the launcher becomes Node, which runs the program with all words', (t) => {
  const { isSameProcess, words } = given(t, ['device', 'create', '--name', "Ada's phone", '']);
  t.true(isSameProcess, 'signals reach Node');
  const at = words.indexOf(join(LIB, 'start/postern.js'));
  t.true(at > 0, words.join(' '));
  t.true(words.slice(0, at).every((word) => word.startsWith('--')));
  const [startedAs, ...typed] = words.slice(at + 1);
  t.is(startedAs, `--started-as=${LAUNCHER}`);
  t.deepEqual(typed, ['device', 'create', '--name', "Ada's phone", '']);
});

test('the program knows how it was started, but for a gateway', (t) => {
  const startedAs = (environment: Record<string, string>, words = ['help']): string[] =>
    given(t, words, { environment }).words.filter((word) => word.startsWith('--started-as='));
  t.deepEqual(startedAs({}), [`--started-as=${LAUNCHER}`]);
  t.deepEqual(startedAs({ npm_lifecycle_event: 'npx' }), ['--started-as=npx postern']);
  t.deepEqual(startedAs({ npm_lifecycle_event: 'postern' }), [
    '--started-as=npm run -s postern --',
  ]);
  t.deepEqual(startedAs({}, ['serve']), []);
  t.deepEqual(startedAs({}, ['serve-rootless']), []);
  t.deepEqual(startedAs({}, []), []);
  // The command on the path, as the launcher is linked there.
  const folder = mkdtempSync(join(tmpdir(), 'postern-on-path-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'postern');
  symlinkSync(LAUNCHER, path);
  const { words } = given(t, ['help'], { path, onPath: folder });
  t.true(words.includes('--started-as=postern'));
});

test('the C library and the compile cache have their settings', (t) => {
  const { environment } = given(t, ['serve']);
  t.like(environment, { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' });
  t.is(
    resolve(environment['NODE_COMPILE_CACHE'] ?? ''),
    resolve(LIB, '../node_modules/.cache/postern'),
  );
});

test('what the environment sets stays', (t) => {
  const own = {
    MALLOC_ARENA_MAX: '4',
    MALLOC_TRIM_THRESHOLD_: '1',
    NODE_COMPILE_CACHE: '/var/cache/postern',
  };
  t.deepEqual(given(t, [], { environment: own }).environment, own);
});

test('a link, as npm makes one, leads to the same program', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-linked-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'postern');
  symlinkSync(LAUNCHER, path);
  t.true(given(t, [], { path }).words.includes(join(LIB, 'start/postern.js')));
});

/** A release: the launcher with a Node of its own, and the loader that this Node needs. */
function release(t: ExecutionContext, loader: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-released-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['lib', 'runtime']) mkdirSync(join(folder, name));
  copyFileSync(LAUNCHER, join(folder, 'lib/postern'));
  writeFileSync(join(folder, 'runtime/loader'), `${loader} linux x64\n`);
  writeFileSync(join(folder, 'runtime/node'), PRINTER.replace('echo', 'echo "own=yes"; echo'));
  chmodSync(join(folder, 'runtime/node'), 0o755);
  return join(folder, 'lib/postern');
}

test('a release runs its own Node, whatever is on the path', (t) => {
  const { environment, isSameProcess } = given(t, [], { path: release(t, '/bin/sh') });
  t.is(environment['own'], 'yes');
  t.true(isSameProcess);
});

test('a release without the loader of its Node says so in one sentence', (t) => {
  const { status, stderr } = spawnSync(release(t, '/no/such/loader'), ['serve'], {
    encoding: 'utf8',
  });
  t.is(status, 1);
  t.regex(
    stderr,
    /^postern: this release is for linux x64 with glibc .* no \/no\/such\/loader.*\n$/,
  );
});

test('Node takes every flag, and its answer is the answer', (t) => {
  const printed = execFileSync(LAUNCHER, ['--version'], {
    env: { ...process.env, PATH: PATH_TO_NODE },
    encoding: 'utf8',
  });
  t.regex(printed, /^postern \d+\.\d+\.\S+ \(schema \d{4}-\S+, build [0-9a-f]{12}\)\nNode .*\n$/);
});
