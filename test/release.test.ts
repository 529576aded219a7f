// The release: an archive of the bundle, which a host without npm and compiler runs.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { transform } from 'esbuild';
import { PATH_TO_NODE } from './support/gateway/launcher.ts';
import { unpackRelease } from './support/gateway/release.ts';

const exec = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');
const folder = unpackRelease();

test('a release is the bundle with its addon, its unit and its documents', async (t) => {
  for (const name of [
    'dataplane/native/build/Release/postern.node',
    'config/systemd/postern.service',
    'README.md',
    'docs/guides/systemd.md',
    'LICENSES-OF-PACKAGES',
  ])
    t.true(existsSync(join(folder, name)), name);
  for (const name of ['sources', 'config/systemd/postern.service'])
    t.true(readFileSync(join(folder, name), 'utf8').length > 60, name);
  const [released, checkout] = await Promise.all(
    [folder, ROOT].map((root) =>
      exec(join(root, 'lib/postern'), ['--version'], { env: { PATH: PATH_TO_NODE } }),
    ),
  );
  t.is(released?.stdout, checkout?.stdout);
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
