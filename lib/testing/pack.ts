// Makes the package that other projects install to test against a gateway: `npm run package` leaves
// postern-<version>.tgz. Node strips no types under node_modules, so it holds JavaScript and
// declarations beside what is no script; decisions/ says why this is the only build there is.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import process from 'node:process';

const ROOT = resolve(import.meta.dirname, '../..');
const ROOMS = ['config', 'models', 'dataplane', 'lib'];
const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'LICENSE',
  'LICENSES.md',
  'docs',
];
/** What scripts and declarations are made of, and what a build of the addon leaves. */
const LEFT_OUT = /\.ts$|\/native\/build$/;

/** The door for `require`, which cannot open one that waits; it asks for the version in its way. */
const REQUIRED_DOOR = `'use strict';
if (!process.features.require_module)
  throw new Error('Postern needs Node 24.19 or newer, and require must take ES modules; this is Node ' + process.versions.node + '.');
const fault = require('../node-version.js').oldNodeFault();
if (fault !== null) throw new Error(fault);
module.exports = require('./index.js');
`;

const staging = mkdtempSync(join(tmpdir(), 'postern-package-'));
try {
  emit(staging);
  for (const name of [...ROOMS, ...DOCUMENTS])
    cpSync(join(ROOT, name), join(staging, name), {
      recursive: true,
      filter: (path) => !LEFT_OUT.test(path),
    });
  writeFileSync(join(staging, 'package.json'), manifest());
  writeFileSync(join(staging, 'lib/testing/door.js'), testingDoor());
  writeFileSync(join(staging, 'lib/testing/door.cjs'), REQUIRED_DOOR);
  run('npm', ['pack', '--loglevel=error', staging, `--pack-destination=${process.cwd()}`]);
} finally {
  rmSync(staging, { recursive: true, force: true });
}

/** JavaScript, and declarations that name each other by the ending that they have there. */
function emit(folder: string): void {
  const project = join(folder, 'tsconfig.json');
  const include = ROOMS.map((room) => join(ROOT, room));
  const compilerOptions = {
    noEmit: false,
    outDir: folder,
    rootDir: ROOT,
    declaration: true,
    // `npm run typecheck` does that.
    noCheck: true,
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  const options = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include };
  writeFileSync(project, JSON.stringify(options));
  run(join(ROOT, 'node_modules/.bin/tsc'), ['--project', project]);
  rmSync(project);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const path of files
    .filter((name) => name.endsWith('.d.ts'))
    .map((name) => join(folder, name)))
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replaceAll(
        /(from ["']\.[^"']*|import\(["']\.[^"']*)\.ts(?=["'])/g,
        '$1.js',
      ),
    );
}

/** What `postern/testing` opens: it asks for the version of Node before anything newer is read. */
function testingDoor(): string {
  const source = readFileSync(join(ROOT, 'lib/testing/index.ts'), 'utf8');
  const names = [...source.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap(([, list = '']) => list.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '));
  return [
    "import { oldNodeFault } from '../node-version.js';",
    'const fault = oldNodeFault();',
    'if (fault !== null) throw new Error(fault);',
    "const testing = await import('./index.js');",
    `export const { ${names.join(', ')} } = testing;`,
    '',
  ].join('\n');
}

/** The manifest without what is for those who work on the gateway. */
function manifest(): string {
  const text = readFileSync(join(ROOT, 'package.json'), 'utf8');
  const {
    devDependencies: _,
    scripts,
    exports: doors,
    ava: __,
    allowScripts: ___,
    ...rest
  } = JSON.parse(text) as Record<string, Record<string, string>>;
  const exported = Object.entries(doors ?? {}).map(([door, file]) => [
    door,
    {
      types: renamed(file, '.d.ts'),
      require: `${dirname(file)}/door.cjs`,
      default: `${dirname(file)}/door.js`,
    },
  ]);
  return JSON.stringify({
    ...rest,
    exports: Object.fromEntries(exported),
    scripts: { install: scripts?.['install'] },
  });
}

function renamed(file: string, ending: string): string {
  return file.slice(0, -extname(file).length) + ending;
}

function run(command: string, words: readonly string[]): void {
  const { status, error } = spawnSync(command, words, {
    stdio: ['ignore', 'inherit', 'inherit'],
    cwd: ROOT,
  });
  if (status !== 0) throw new Error(`${command} failed${error ? `: ${error.message}` : ''}`);
}
