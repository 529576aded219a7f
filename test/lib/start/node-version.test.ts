// A Node that is too old causes one clear sentence, from code that an old Node can read.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { oldNodeError } from '../../../lib/start/node-version.js';

const LIB = resolve(import.meta.dirname, '../../../lib');

test('the least version is that of package.json', (t) => {
  const { engines } = JSON.parse(readFileSync(resolve(LIB, '../package.json'), 'utf8')) as {
    engines: { node: string };
  };
  t.is(engines.node, '>=24.19');
  for (const old of ['18.20.0', '20.20.2', '22.22.0', '24.11.1', '24.18.2', '24.0.0'])
    t.regex(oldNodeError(old) ?? '', /^Postern needs Node 24\.19 or newer; this is Node \d/);
  for (const good of ['24.19.0', '24.21.0', '25.0.0', '26.1.0']) t.is(oldNodeError(good), null);
});

test('a newer Node with an older SQLite will not do', (t) => {
  const error = oldNodeError('25.0.0', '3.50.4') ?? '';
  t.regex(
    error,
    /^Postern needs a Node with SQLite 3\.53\.3 or newer; this is Node 25\.0\.0 .*3\.50\.4\.$/,
  );
  t.regex(oldNodeError('25.0.0', '') ?? '', /with none\.$/);
  for (const good of ['3.53.3', '3.53.10', '3.54.0', '4.0.0'])
    t.is(oldNodeError('25.0.0', good), null);
  t.true(oldNodeError('25.0.0', '3.53.2') !== null);
});

test('the command checks the version before it loads newer code', (t) => {
  const source = readFileSync(resolve(LIB, 'start/postern.js'), 'utf8');
  const imported = [...source.matchAll(/^import .* from '(.*)';$/gm)].map(([, name]) => name);
  t.deepEqual(imported, ['node:fs', 'node:process', './node-version.js']);
});

test('the command runs from any folder', (t) => {
  const { stdout, status } = spawnSync(
    process.execPath,
    [resolve(LIB, 'start/postern.js'), '--version'],
    { cwd: '/', encoding: 'utf8' },
  );
  t.is(status, 0);
  t.regex(stdout, /^postern \d/);
});
