// The package that other projects install to test against a gateway. It holds the scripts of the
// bundle, but packages of npm are beside it, as its dependencies; and declarations, the addon with
// its sources, and two doors that know an old Node.
// lib/testing/decisions/2026-11-21-package.md says why.

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import process from 'node:process';
import { ADDON, DOCUMENTS, writeParts } from './bundle.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** Where the installation looks for an addon of its machine before it compiles one. */
const PREBUILT = 'dataplane/native/prebuilt';
/** The door for test suites. */
const DOOR = 'lib/testing/index.ts';
/** What an old Node reads first, the page about tests, and what the addon is made of. */
const PLAIN = ['lib/start/node-version.js', 'lib/testing/README.md', 'dataplane/native'];
/** Sources in TypeScript, and what a build of the addon leaves. */
const LEFT_OUT = /\.ts$|\/native\/build$/;

/** The door for `require`, which cannot open one that waits; it asks for the version in its way. */
const REQUIRED_DOOR = `'use strict';
if (!process.features.require_module)
  throw new Error('Postern needs Node 24.19 or newer, and require must take ES modules; this is Node ' + process.versions.node + '.');
const error = require('../start/node-version.js').oldNodeError();
if (error !== null) throw new Error(error);
module.exports = require('./index.js');
`;

/** What a package is made of. */
interface Package {
  /** That of package.json unless it is given. */
  readonly version?: string;
  /** The file of the addon for each kind of machine, by its name; others compile one. */
  readonly addons: Readonly<Record<string, string>>;
}

/** The addon of this checkout, if it has one. */
export function ownAddon(): Readonly<Record<string, string>> {
  const addon = join(ROOT, ADDON);
  return existsSync(addon) ? { [`${process.platform}-${process.arch}`]: addon } : {};
}

/** Leaves postern-<version>.tgz in a folder. */
export async function packTesting(output: string, { version, addons }: Package): Promise<void> {
  const staging = mkdtempSync(join(tmpdir(), 'postern-package-'));
  try {
    await writeParts(staging, { entries: [DOOR], hasPackages: false });
    declare(staging);
    for (const name of [...PLAIN, ...DOCUMENTS])
      cpSync(join(ROOT, name), join(staging, name), {
        recursive: true,
        filter: (path) => !LEFT_OUT.test(path),
      });
    for (const [machine, addon] of Object.entries(addons))
      cpSync(addon, join(staging, PREBUILT, machine, 'postern.node'));
    writeFileSync(join(staging, 'package.json'), manifest(version));
    writeFileSync(join(staging, 'lib/testing/door.js'), testingDoor());
    writeFileSync(join(staging, 'lib/testing/door.cjs'), REQUIRED_DOOR);
    // What a umask keeps from others is kept from nobody who unpacks.
    run('chmod', ['-R', 'u+rw,go=rX', staging]);
    run('npm', ['pack', '--loglevel=error', staging, `--pack-destination=${output}`]);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Declarations of all that the door shows; they name each other by the ending they have there. */
function declare(folder: string): void {
  const project = join(folder, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    outDir: folder,
    rootDir: ROOT,
    declaration: true,
    emitDeclarationOnly: true,
    // `npm run typecheck` does that.
    noCheck: true,
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  const files = [join(ROOT, DOOR)];
  const options = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, files, include: [] };
  writeFileSync(project, JSON.stringify(options));
  run(join(ROOT, 'node_modules/.bin/tsc'), ['--project', project]);
  rmSync(project);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const path of names
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
    "import { oldNodeError } from '../start/node-version.js';",
    'const error = oldNodeError();',
    'if (error !== null) throw new Error(error);',
    "const testing = await import('./index.js');",
    `export const { ${names.join(', ')} } = testing;`,
    '',
  ].join('\n');
}

/** The manifest without what is for those who work on the gateway. */
function manifest(version?: string): string {
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
    ...(version === undefined ? {} : { version }),
    exports: Object.fromEntries(exported),
    scripts: { install: scripts?.['install'] },
  });
}

function renamed(file: string, ending: string): string {
  return file.slice(0, -extname(file).length) + ending;
}

/** Runs a command that packs or makes a part of a package. */
export function run(command: string, words: readonly string[]): void {
  const { status, error } = spawnSync(command, words, {
    stdio: ['ignore', 'inherit', 'inherit'],
    cwd: ROOT,
  });
  if (status !== 0) throw new Error(`${command} failed${error ? `: ${error.message}` : ''}`);
}
