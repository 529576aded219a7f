// The program of a release, which runs on a host without Node, npm and compiler. What needs a system
// of its own to be tried is in test/ops/release.test.ts.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  symlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { transform } from 'esbuild';
import { isNewer, glibcOf } from '../tools/release/addon.ts';
import { PINS } from '../tools/release/node.ts';
import { releasedProgram } from './support/gateway/release.ts';
import { temporaryFolder } from './support/suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '..');
const VERSION = '7.8.9';
const MEGABYTES_MOST = 160;
const folder = await releasedProgram(VERSION);
/** A path with the two programs that the launcher starts. */
const WITHOUT_NODE = { PATH: temporaryFolder('postern-path-') };
for (const name of ['dirname', 'readlink'])
  symlinkSync(`/usr/bin/${name}`, join(WITHOUT_NODE.PATH, name));
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

test('a release is the bundle with addon, Node, unit, documents and licences', (t) => {
  for (const name of [
    'dataplane/native/build/Release/postern.node',
    'config/systemd/postern.service',
    'config/systemd/postern-backup.service',
    'config/systemd/postern-backup.timer',
    'README.md',
    'docs/guides/systemd.md',
    'LICENSES-OF-PACKAGES',
    'runtime/node',
    'runtime/LICENSE',
    'share/man/man1/postern.1',
    'share/bash-completion/completions/postern',
    'share/zsh/vendor-completions/_postern',
    'share/fish/vendor_completions.d/postern.fish',
    'sources',
  ])
    t.true(existsSync(join(folder, name)), name);
  const size = execFileSync('du', ['--bytes', '--summarize', folder], { encoding: 'utf8' });
  const megabytes = Number.parseInt(size, 10) / 1e6;
  t.log(`${megabytes.toFixed(0)} MB`);
  t.true(megabytes < MEGABYTES_MOST, size);
});

test('it runs where no Node is, and says its version and what it is made of', (t) => {
  const { stdout } = run('version');
  t.regex(stdout, new RegExp(`^postern ${VERSION.replaceAll('.', '\\.')} \\(schema `));
  t.is(stdout.split('\n')[1]?.split(',')[0], `Node ${PINS.version}`);
});

test('its messages name a command that a host without npm has', (t) => {
  const { status, stderr } = run('dance');
  t.is(status, 2);
  t.is(stderr, `there is no command "dance"; see: ${join(folder, 'lib/postern')} help\n`);
});

test('nothing in it asks for a newer glibc than Node does', (t) => {
  const binaries = files.filter(isElf);
  const names = binaries.map((path) => path.slice(folder.length + 1));
  t.true(names.includes('runtime/node'), names.join(' '));
  t.true(names.includes('dataplane/native/build/Release/postern.node'), names.join(' '));
  for (const path of binaries) {
    const newest = glibcOf(path);
    t.true(newest !== '0' && !isNewer(newest), `${path} asks for glibc ${newest}`);
  }
  for (const [version, expected] of [
    ['2.4', false],
    ['2.28', false],
    ['2.29', true],
    ['3.1', true],
  ] as const)
    t.is(isNewer(version), expected, version);
});

test('its Node is the one that a checkout installs', (t) => {
  const manifest = readFileSync(join(ROOT, 'node_modules/node/package.json'), 'utf8');
  t.is(PINS.version, (JSON.parse(manifest) as { version: string }).version);
});

test('an old Node can read what its command reads first, which says what is wanted', async (t) => {
  const program = join(folder, 'lib/start/postern.js');
  const text = readFileSync(program, 'utf8');
  t.regex(text, /Postern needs/);
  const imported = [...text.matchAll(/^import"([^"]*)"|\bfrom"(\.[^"]*)"/gm)];
  const others = imported.map(([, alone, named]) => join(program, '..', alone ?? named ?? ''));
  for (const source of [text, ...others.map((path) => readFileSync(path, 'utf8'))]) {
    const as = async (target: string): Promise<string> =>
      (await transform(source, { target, format: 'esm' })).code;
    t.is(await as('node18'), await as('esnext'));
  }
});

function run(...words: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(join(folder, 'lib/postern'), words, { env: WITHOUT_NODE, encoding: 'utf8' });
}

function isElf(path: string): boolean {
  const head = new Uint8Array(4);
  const file = openSync(path, 'r');
  readSync(file, head, 0, head.length, 0);
  closeSync(file);
  return Buffer.from(head).toString('latin1') === '\x7fELF';
}
