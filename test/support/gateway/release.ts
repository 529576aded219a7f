// The release as people install it: made by the command that makes it, and unpacked.

import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { temporaryFolder } from '../suite/temporary-folder.ts';

const SCRIPT = resolve(import.meta.dirname, '../../../tools/write-release.ts');

/** Makes a release and unpacks it; its folder. */
export function unpackRelease(): string {
  const folder = temporaryFolder('postern-unpacked-');
  const archive = execFileSync(process.execPath, [SCRIPT], { cwd: folder, encoding: 'utf8' });
  execFileSync('tar', ['-xzf', archive.trim()], { cwd: folder });
  return join(folder, 'postern');
}
