// The client for TypeScript as another project takes it: packed, unpacked under node_modules, compiled
// with the TypeScript that its generator wants, and run against a gateway. The program is the one
// that docs/guides/scripting.md shows. The packages of test/client are installed once, in seconds.

import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { CLIENT, CLIENT_PROJECT, packClient } from '../tools/client.ts';
import { createGateway } from '../lib/testing/index.ts';
import { examplesOf } from './support/suite/examples.ts';
import { temporaryFolder } from './support/suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '..');
const exec = promisify(execFile);

/** Each line has one error, which the compiler finds by the types. */
const SLIPS = `import { createClient, type components } from 'postern-client';
const api = createClient({ url: '', token: '' });
void api.GET('/v0/no_such_path');
void api.POST('/v0/users', { body: { user: { role: 'admin' } } });
void api.POST('/v0/rules', { body: { rule: { destination: '10.0.0.0/8', action: 'allow' } } });
export const word: components['schemas']['Error']['error'] = 'no_such_error';
`;

test('a project of its own compiles with the client and does what is common at a gateway', async (t) => {
  const folder = temporaryFolder('postern-client-project-');
  packClient(folder, '7.8.9');
  const [packed = ''] = readdirSync(folder);
  t.is(packed, `${CLIENT}-7.8.9.tgz`);
  const home = join(folder, 'node_modules', CLIENT);
  mkdirSync(home, { recursive: true });
  await exec('tar', ['-xzf', packed, '--strip-components=1', '-C', home], { cwd: folder });
  t.deepEqual(readdirSync(home).toSorted(), [
    'LICENSE',
    'README.md',
    'index.d.ts',
    'index.js',
    'package.json',
    'schema.d.ts',
  ]);
  const installed = join(CLIENT_PROJECT, 'node_modules');
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of [
    ...Object.keys(manifest.dependencies),
    'openapi-typescript-helpers',
    '@types',
  ])
    symlinkSync(join(installed, name), join(folder, 'node_modules', name));

  const [example = ''] = examplesOf(join(ROOT, 'docs/guides/scripting.md'), 'ts');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
  writeFileSync(join(folder, 'tasks.ts'), example);
  writeFileSync(join(folder, 'slips.ts'), SLIPS);
  const compilerOptions = {
    strict: true,
    module: 'nodenext',
    target: 'es2024',
    // The declarations of the package are checked, those of the language are not.
    skipDefaultLibCheck: true,
    types: ['node'],
  };
  const project = { compilerOptions, files: ['tasks.ts', 'slips.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  const compiled = await exec(join(installed, '.bin/tsc'), ['-p', folder], { cwd: folder }).catch(
    (error: unknown) => error as { stdout: string },
  );
  const errors = compiled.stdout.split('\n').filter((line) => /^\S+\(\d+,\d+\): error/.test(line));
  const places = errors.map((line) => line.replace(/,.*/, ''));
  t.deepEqual(
    [...new Set(places)],
    [3, 4, 5, 6].map((line) => `slips.ts(${line}`),
    compiled.stdout,
  );

  await using gateway = await createGateway({ database: 'memory', tun: 'memory' });
  const env = {
    PATH: process.env['PATH'],
    POSTERN_URL: await gateway.listen(),
    POSTERN_TOKEN: gateway.token,
  };
  const { stdout } = await exec(process.execPath, ['tasks.js'], { cwd: folder, env });
  t.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map((line) =>
        line.replace(/\S*\/one_time_links\/\S+/, 'LINK').replace(/rule: \S{36}/, 'rule: ID'),
      ),
    [
      'link: LINK',
      `devices: [ 'laptop 100.64.0.2' ]`,
      'members: 1 rule: ID',
      'verdict: drop true',
      'audit: update',
      'deleted: 204 undefined',
    ],
  );
});
