// What Postern is made of beside its own files: every dependency is known, by a licence that asks for
// notices alone, and the bill of materials names them all.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { isPermissive, licensesPage, productionDependencies } from '../tools/licenses.ts';

const ROOT = resolve(import.meta.dirname, '..');

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  license?: string;
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest;
}

test('every dependency of production has a permissive licence', (t) => {
  const dependencies = productionDependencies();
  t.true(dependencies.length > 100);
  for (const { name, license } of dependencies)
    t.true(isPermissive(license), `${name} is under ${license || 'no licence that it names'}`);
});

test('licences are read as SPDX means them', (t) => {
  for (const yes of [
    'MIT',
    '(MIT OR GPL-3.0-only)',
    'MIT-0',
    'MIT AND ISC',
    'GPL-2.0 OR Apache-2.0',
  ])
    t.true(isPermissive(yes), yes);
  for (const no of [
    '',
    'GPL-3.0-only',
    'MIT AND GPL-3.0-only',
    'SEE LICENSE IN x',
    'AGPL-3.0 OR SSPL-1.0',
  ])
    t.false(isPermissive(no), no);
});

test('a package says of its licence what the lock file says', (t) => {
  const installed = productionDependencies().filter(({ path }) => existsSync(join(ROOT, path)));
  t.true(installed.length > 100);
  for (const { path, license } of installed) t.is(manifestOf(path).license, license, path);
});

test('LICENSES.md lists what is installed', (t) => {
  const page = readFileSync(join(ROOT, 'LICENSES.md'), 'utf8');
  t.is(page, licensesPage(productionDependencies()), 'run: npm run licenses');
});

test('the bill of materials names everything, and nothing of the tests', async (t) => {
  const { stdout } = await promisify(execFile)('npm', ['run', '-s', 'sbom'], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  });
  const bill = JSON.parse(stdout) as {
    bomFormat: string;
    metadata: { component: { 'bom-ref': string } };
    components: { 'bom-ref': string; name: string; version: string; licenses?: object[] }[];
  };
  t.is(bill.bomFormat, 'CycloneDX');
  t.regex(bill.metadata.component['bom-ref'], /^postern@/);
  const refs = new Set(bill.components.map(({ 'bom-ref': ref }) => ref.split('|')[0] ?? ref));
  const dependencies = productionDependencies();
  const listed = new Set(dependencies.map(({ name, version }) => `${name}@${version}`));
  t.deepEqual(
    [...refs].filter((ref) => !listed.has(ref)),
    [],
  );
  t.deepEqual(
    [...listed].filter((ref) => !refs.has(ref)),
    [],
  );
  for (const component of bill.components)
    t.true((component.licenses ?? []).length > 0, component.name);
  const names = new Set(bill.components.map(({ name }) => name));
  for (const name of ['ava', 'oxlint', 'playwright-core', 'typescript'])
    t.false(names.has(name), name);
});

test('every dependency is fixed to a version and a hash, and comes from the registry', (t) => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { resolved?: string; integrity?: string; version: string }>;
  };
  for (const [path, { resolved, integrity = '' }] of Object.entries(packages)) {
    if (path === '') continue;
    t.regex(integrity, /^sha512-/, path);
    if (resolved !== undefined) t.regex(resolved, /^https:\/\/registry\.npmjs\.org\//, path);
  }
  const { dependencies, devDependencies } = manifestOf('.');
  for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies }))
    t.regex(range, /^\^?\d+\.\d+\.\d+$/, `${name} is asked for by version`);
});
