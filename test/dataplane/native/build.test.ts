// The install script, with a node-gyp in its path that makes what the test wants.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';

const SOURCES = resolve(import.meta.dirname, '../../../dataplane/native');

/** Runs the script where node-gyp does as `commands` say. */
function install(t: ExecutionContext, commands: string) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-build-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['build.ts', 'linked-node.ts'])
    cpSync(join(SOURCES, name), join(folder, name));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  mkdirSync(join(folder, 'bin'));
  mkdirSync(join(folder, 'build/Release'), { recursive: true });
  writeFileSync(join(folder, 'bin/node-gyp'), `#!/bin/sh\ncd '${folder}'\n${commands}\n`, {
    mode: 0o755,
  });
  const path = [join(folder, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'];
  return spawnSync(process.execPath, [join(folder, 'build.ts')], {
    encoding: 'utf8',
    env: { PATH: path.join(delimiter) },
  });
}

const MAKES_RIGHT = 'echo libc.so.6 > build/Release/postern.node';

test('an addon that is right is accepted without a word', (t) => {
  const { status, stderr } = install(t, MAKES_RIGHT);
  t.is(status, 0);
  t.is(stderr, '');
});

test('an addon that needs a second Node makes the installation fail', (t) => {
  const { status, stderr } = install(t, 'echo libnode.so.108 > build/Release/postern.node');
  t.is(status, 1);
  t.regex(stderr, /build\/Release\/postern\.node\n/);
  t.regex(stderr, /npx -y npm@10 ci/);
});

test('without a compiler the installation succeeds, and says what is missing', (t) => {
  const { status, stderr } = install(t, 'echo no compiler >&2; exit 1');
  t.is(status, 0);
  t.regex(stderr, /no compiler[\s\S]*The native engine was not built/);
});
