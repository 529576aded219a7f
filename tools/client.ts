// The client for TypeScript as a package: the files in client/, with types that openapi-typescript
// makes of the OpenAPI document. It is not among our own packages, because it wants an older
// TypeScript than ours: it and what the package needs are those of the project in test/client.

import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openApiDocument } from '../lib/api/openapi/document.ts';
import { run } from './package.ts';

const ROOT = resolve(import.meta.dirname, '..');
const SOURCES = join(import.meta.dirname, 'client');
/** The project whose packages are taken. */
export const CLIENT_PROJECT = join(ROOT, 'test/client');
/** What the package is called. */
export const CLIENT = 'postern-client';

/** Installs the packages of the project where they are missing or older than its lock file. */
export function installClientProject(): void {
  const lock = join(CLIENT_PROJECT, 'package-lock.json');
  const installed = join(CLIENT_PROJECT, 'node_modules/.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  run('npm', [
    'ci',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    `--prefix=${CLIENT_PROJECT}`,
  ]);
}

/** Leaves postern-client-<version>.tgz in a folder. */
export function packClient(output: string, version: string): void {
  installClientProject();
  const staging = mkdtempSync(join(tmpdir(), 'postern-client-'));
  try {
    cpSync(SOURCES, staging, { recursive: true });
    cpSync(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
    writeFileSync(join(staging, 'package.json'), `${JSON.stringify(manifest(version), null, 2)}\n`);
    const document = join(staging, 'openapi.json');
    writeFileSync(document, JSON.stringify(openApiDocument('')));
    const generator = join(CLIENT_PROJECT, 'node_modules/.bin/openapi-typescript');
    run(generator, [document, `--output=${join(staging, 'schema.d.ts')}`]);
    rmSync(document);
    run('chmod', ['-R', 'u+rw,go=rX', staging]);
    run('npm', ['pack', '--loglevel=error', staging, `--pack-destination=${output}`]);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function manifest(version: string): object {
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { license: string };
  const project = readFileSync(join(CLIENT_PROJECT, 'package.json'), 'utf8');
  const { dependencies } = JSON.parse(project) as { dependencies: object };
  return {
    name: CLIENT,
    version,
    description: 'A client for the administration API of Postern, with its types',
    license: own.license,
    type: 'module',
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    engines: { node: '>=20' },
    dependencies,
  };
}
