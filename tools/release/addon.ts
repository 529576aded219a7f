// The addon of a release: compiled anew by the script of the installation, for any machine, and
// refused where it would not start on the oldest system that a release is for.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { type Architecture, toolFor } from './architectures.ts';
import { HEADERS } from './node.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NATIVE = 'dataplane/native';
/** Node itself asks for no newer one; Debian 10 and RHEL 8 have it. */
export const GLIBC_MOST = '2.28';

/** Compiles the addon in `staging`; its path. */
export function buildAddon(staging: string, architecture: Architecture): string {
  const isBuilt = (path: string): boolean => resolve(path) === join(ROOT, NATIVE, 'build');
  mkdirSync(staging, { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(staging, 'package.json'));
  cpSync(join(ROOT, NATIVE), join(staging, NATIVE), {
    recursive: true,
    filter: (path) => !isBuilt(path),
  });
  execFileSync(process.execPath, [join(staging, NATIVE, 'build.cjs')], {
    stdio: 'inherit',
    env: {
      ...process.env,
      CXX: toolFor(architecture, 'g++'),
      CXXFLAGS: '',
      LDFLAGS: '-s',
      npm_config_nodedir: HEADERS,
    },
  });
  const addon = join(staging, NATIVE, 'build/Release/postern.node');
  if (!existsSync(addon))
    throw new Error('the addon was not built, and a release needs it; what is said above is why');
  const newest = glibcOf(addon);
  if (isNewer(newest))
    throw new Error(`the addon asks for glibc ${newest}, and a release for ${GLIBC_MOST} at most`);
  return addon;
}

/** The newest version of glibc that a program or a library asks for; 0 if for none. */
export function glibcOf(path: string): string {
  const text = execFileSync('readelf', ['--version-info', '--wide', path], { encoding: 'utf8' });
  const versions = [...text.matchAll(/\bGLIBC_(\d+(?:\.\d+)+)/g)].map(([, version]) => version!);
  return versions.toSorted(compare).at(-1) ?? '0';
}

/** Whether a version of glibc is newer than a release may ask for. */
export function isNewer(version: string): boolean {
  return compare(version, GLIBC_MOST) > 0;
}

function compare(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
