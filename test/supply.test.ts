// What Postern is made of beside its own files: every dependency is known, by a licence that asks for
// notices alone, and the bill of materials names them all.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import {
  installedDependencies,
  isPermissive,
  licensesPage,
  productionDependencies,
} from '../tools/licenses.ts';
import { iconPackage, ICONS, iconSheet, writtenSheet } from '../tools/icons.ts';
import { PINS } from '../tools/release/node.ts';
import { billOfMaterials } from '../tools/sbom.ts';
import { sums, writtenSums } from '../tools/swagger-ui.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** Packages that `npm ci --omit=dev` installs, and their megabytes. */
const PACKAGES_MAX = 120;
const MEGABYTES_MAX = 50;

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  license?: string;
  overrides: Record<string, string>;
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

test('an installation is small', (t) => {
  const packages = installedDependencies();
  t.true(packages.length <= PACKAGES_MAX, `${packages.length} packages`);
  const bytes = packages.map(({ path }) => bytesOf(join(ROOT, path)));
  const megabytes = bytes.reduce((sum, one) => sum + one, 0) / 1e6;
  t.log(`${packages.length} packages, ${megabytes.toFixed(1)} MB`);
  t.true(megabytes > 10 && megabytes <= MEGABYTES_MAX, `${megabytes} MB`);
});

/** The bytes of a package without those of packages inside of it. */
function bytesOf(folder: string): number {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.slice(folder.length).includes('/node_modules/'))
    .reduce((sum, path) => sum + statSync(path).size, 0);
}

test('the copies of Swagger UI are as they were copied, of the version that is named', (t) => {
  t.is(writtenSums(), sums(), 'run: npm run swagger-ui');
  t.deepEqual(
    readdirSync(join(ROOT, 'lib/api/swagger-ui')).toSorted(),
    ['SHA256SUMS', ...namesIn(sums())].toSorted(),
  );
  const script = readFileSync(join(ROOT, 'lib/api/swagger-ui/swagger-ui-bundle.js'), 'utf8');
  const { dependencies } = manifestOf('tools/swagger-ui');
  t.true(script.includes(`"${dependencies['swagger-ui-dist']}"`), 'the script knows its version');
});

test('the icons are those of the version that is named, each shown by the console', (t) => {
  t.deepEqual(writtenSheet(), iconSheet(), 'run: npm run icons');
  const { css } = iconSheet();
  t.true(css.includes(iconPackage().version));
  t.is(
    css.match(/^\.i-[\w-]+ \{\n  --icon: url\("data:image[^"]*<\/svg>"\);$/gm)?.length,
    ICONS.length,
  );
  const web = join(ROOT, 'lib/web');
  const shown = readdirSync(web, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|eta)$/.test(name))
    .map((name) => readFileSync(join(web, name), 'utf8'))
    .join('\n');
  for (const name of ICONS)
    t.true(shown.includes(`'${name}'`) || shown.includes(`i-${name}`), name);
});

/** The files of a list as `sha256sum` writes it. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/^[0-9a-f]{64} {2}(.*)$/gm)].map(([, name = '']) => name);
}

test('an override stays only while somebody asks for less than it', (t) => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dependencies?: Record<string, string> }>;
  };
  const { overrides } = manifestOf('.');
  t.true(Object.keys(overrides).length > 0);
  for (const [name, range] of Object.entries(overrides)) {
    const asked = Object.values(packages).flatMap(({ dependencies }) => dependencies?.[name] ?? []);
    t.true(
      asked.some((one) => isLess(leastOf(one), leastOf(range))),
      `the override of ${name} may go: ${asked.join(', ') || 'nobody'} asks for it`,
    );
    const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
    t.regex(page, new RegExp(`^\\| \`${name}\` .*overridden`, 'm'), 'the reason is written down');
  }
});

test('an override is known to be needed or not by the versions that are asked for', (t) => {
  t.true(isLess(leastOf('^8.3.2'), leastOf('^11.1.1')));
  t.true(isLess(leastOf('~11.1.0'), leastOf('^11.1.1')));
  t.true(isLess(leastOf('9 || 11'), leastOf('^11.1.1')));
  for (const enough of ['^11.1.1', '>=11.1.1', '12', '=11.2.0'])
    t.false(isLess(leastOf(enough), leastOf('^11.1.1')), enough);
});

/** The least version that a range names, as numbers. */
function leastOf(range: string): number[] {
  const [first = ''] = range.split('||');
  const version = /\d+(\.\d+)*/.exec(first)?.[0] ?? '0';
  return version.split('.').map(Number);
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const at = [0, 1, 2].find((i) => (a[i] ?? 0) !== (b[i] ?? 0));
  return at !== undefined && (a[at] ?? 0) < (b[at] ?? 0);
}

test('CONTRIBUTING.md says of each dependency what it is for', (t) => {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const [, table = ''] = /^### What each is for\n([\s\S]*?)\n##/m.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| (`[^|]*) \| ([^|]+) \| [^|]+ \|$/gm)];
  const named = rows.flatMap(([, names = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
  for (const [, names = '', use = ''] of rows) t.true(use.trim().length > 10, names);
  const { dependencies, devDependencies } = manifestOf('.');
  const copied = Object.keys(manifestOf('tools/swagger-ui').dependencies);
  const client = manifestOf('test/client');
  const ofClient = Object.keys({ ...client.dependencies, ...client.devDependencies });
  const own = Object.keys({ ...dependencies, ...devDependencies });
  t.deepEqual(named.toSorted(), [...new Set([...own, ...copied, ...ofClient])].toSorted());
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
  const installed = installedDependencies().filter(({ path }) => existsSync(join(ROOT, path)));
  t.true(installed.length > 100);
  for (const { path, license } of installed) t.is(manifestOf(path).license, license, path);
});

test('LICENSES.md lists what is installed', (t) => {
  const page = readFileSync(join(ROOT, 'LICENSES.md'), 'utf8');
  t.is(page, licensesPage(productionDependencies()), 'run: npm run licenses');
});

test('the bill of materials names everything, and nothing of the tests', async (t) => {
  // No program is there to be asked: the npm of Debian 12 knows no bill.
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/write-sbom.ts'], {
    cwd: ROOT,
    env: { PATH: '/nowhere' },
    maxBuffer: 64 * 1024 * 1024,
  });
  const bill = JSON.parse(stdout) as {
    bomFormat: string;
    metadata: { component: { 'bom-ref': string } };
    components: { 'bom-ref': string; name: string; version: string; licenses?: object[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
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

  // Whoever goes from the gateway to what it depends on comes to everything.
  const needed = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set([bill.metadata.component['bom-ref']]);
  for (const ref of reached) for (const other of needed.get(ref) ?? []) reached.add(other);
  t.deepEqual([...reached].slice(1).toSorted(), [...refs].toSorted());
  const uuid = dependencies.find(({ name }) => name === 'uuid')?.version;
  const [sequelize] = [...needed].filter(([ref]) => ref.startsWith('sequelize@'));
  t.true(sequelize?.[1].includes(`uuid@${uuid}`), 'the version that is installed');
});

test('the bill of a release has a Node, and nothing that differs each time', (t) => {
  const text = billOfMaterials({ version: '1.2.3', epoch: 1_700_000_000 });
  t.notRegex(text, /serialNumber|urn:uuid/);
  const bill = JSON.parse(text) as {
    metadata: { timestamp: string; component: { version: string } };
    components: { name: string; version: string }[];
  };
  t.is(bill.metadata.timestamp, '2023-11-14T22:13:20.000Z');
  t.is(bill.metadata.component.version, '1.2.3');
  t.is(bill.components.find(({ name }) => name === 'node')?.version, PINS.version);
});

test('every dependency is fixed to a version and a hash, and comes from the registry', (t) => {
  for (const folder of ['.', 'tools/swagger-ui', 'test/client']) {
    const lock = readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8');
    const { packages } = JSON.parse(lock) as {
      packages: Record<string, { resolved?: string; integrity?: string; version: string }>;
    };
    for (const [path, { resolved, integrity = '' }] of Object.entries(packages)) {
      if (path === '') continue;
      t.regex(integrity, /^sha512-/, path);
      if (resolved !== undefined) t.regex(resolved, /^https:\/\/registry\.npmjs\.org\//, path);
    }
    const { dependencies, devDependencies } = manifestOf(folder);
    for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies }))
      t.regex(range, /^\^?\d+\.\d+\.\d+$/, `${name} is asked for by version`);
  }
});
