// The copies of Swagger UI in lib/api/swagger-ui, which /docs serves. Its package is 12 MB of which
// these files are 2, and depends on a reporter of installations; so it is not among our packages.
// tools/swagger-ui has the version, and the hash of the package that they were taken from.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LockedPackage, lockedPackage } from './locked-package.ts';
import { hashOf } from './release/sums.ts';

const ROOT = join(import.meta.dirname, '..');
const PACKAGE = join(ROOT, 'tools/swagger-ui');
const COPIES = join(ROOT, 'lib/api/swagger-ui');
const NAME = 'swagger-ui-dist';
const SUMS = 'SHA256SUMS';
/** What is served, and the licences of it and of what it was made of. */
const FILES = [
  'LICENSE',
  'NOTICE',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui.css',
];

/** The package that the copies are of, as the lock file has it. */
export function copiedPackage(): LockedPackage {
  return lockedPackage(join(PACKAGE, 'package-lock.json'), NAME);
}

/** Copies the files out of the package; npm compares its hash with the lock file. */
export function copySwaggerUi(): void {
  const folder = mkdtempSync(join(tmpdir(), 'postern-swagger-ui-'));
  try {
    cpSync(PACKAGE, folder, { recursive: true });
    const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    rmSync(COPIES, { recursive: true, force: true });
    mkdirSync(COPIES);
    for (const file of FILES) cpSync(join(folder, 'node_modules', NAME, file), join(COPIES, file));
    writeFileSync(join(COPIES, SUMS), sums());
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The hashes of the copies, as `sha256sum` writes them, after the package that they are of. */
export function sums(): string {
  const { name, version, integrity } = copiedPackage();
  const lines = FILES.map((file) => `${hashOf(join(COPIES, file))}  ${file}`);
  return [`# ${name} ${version} ${integrity}`, ...lines, ''].join('\n');
}

/** The hashes as they were when the files were copied. */
export function writtenSums(): string {
  return readFileSync(join(COPIES, SUMS), 'utf8');
}
