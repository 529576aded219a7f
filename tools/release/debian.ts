// The Debian package, made of the folder of a release and of config/debian; `dpkg-deb` packs it.
// The program lies in /usr/lib/postern, the documents in /usr/share/doc/postern.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { DOCUMENTS } from '../bundle.ts';
import { PUBLISHER } from '../publisher.ts';
import type { Architecture } from './architectures.ts';
import { MANUAL } from './shell-files.ts';

const CONFIG = resolve(import.meta.dirname, '../../config/debian');
const PROGRAM = 'usr/lib/postern';
const PAPERS = 'usr/share/doc/postern';
const UNITS = ['postern.service', 'postern-backup.service', 'postern-backup.timer'];
const SETTINGS = 'etc/postern/postern.env';
const SCRIPTS = ['postinst', 'prerm', 'postrm'];

/** What a package is made of. */
interface Release {
  readonly version: string;
  readonly architecture: Architecture;
  /** Seconds since 1970 that all files get. */
  readonly epoch: number;
}

/** Makes the package `file` of the folder of a release, which is used up; `staging` is empty. */
export function makePackage(
  file: string,
  program: string,
  staging: string,
  { version, architecture, epoch }: Release,
): void {
  mkdirSync(join(staging, dirname(PROGRAM)), { recursive: true });
  renameSync(program, join(staging, PROGRAM));
  moveDocuments(staging, version, epoch);
  moveShellFiles(staging);
  add(staging, 'usr/bin/postern', readFileSync(join(CONFIG, 'postern')), 0o755);
  add(staging, SETTINGS, readFileSync(join(CONFIG, 'postern.env')), 0o640);
  add(
    staging,
    'usr/share/lintian/overrides/postern',
    readFileSync(join(CONFIG, 'lintian-overrides')),
  );
  for (const name of UNITS) {
    const unit = join(staging, PROGRAM, 'config/systemd', name);
    add(staging, `usr/lib/systemd/system/${name}`, unitText(readFileSync(unit, 'utf8')));
  }
  rmSync(join(staging, PROGRAM, 'config/systemd'), { recursive: true });
  for (const script of SCRIPTS)
    add(staging, `DEBIAN/${script}`, readFileSync(join(CONFIG, script)), 0o755);
  add(staging, 'DEBIAN/conffiles', `/${SETTINGS}\n`);
  add(staging, 'DEBIAN/md5sums', hashes(staging));
  const control = readFileSync(join(CONFIG, 'control'), 'utf8');
  const kilobytes = execFileSync('du', ['-sk', '--apparent-size', join(staging, 'usr')], {
    encoding: 'utf8',
  });
  const values: Readonly<Record<string, string>> = {
    VERSION: debianVersion(version),
    ARCHITECTURE: architecture.debian,
    MAINTAINER: PUBLISHER.contact,
    KILOBYTES: String(Number.parseInt(kilobytes, 10)),
  };
  add(
    staging,
    'DEBIAN/control',
    control.replaceAll(/@([A-Z]+)@/g, (_, name: string) => values[name] ?? ''),
  );
  setModes(staging);
  // xz would take a minute of the processor for each package, and save a quarter of it.
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z6', '--build', staging, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
  });
}

/** The version in which a trial comes before its release: 1.1.0~rc.1 for 1.1.0-rc.1. */
export const debianVersion = (version: string): string => version.replace('-', '~');

/** The unit of a checkout with the folder of the package; its Node needs no path. */
export function unitText(unit: string): string {
  return unit
    .replace(/^# Postern under systemd.*\n# .*\n/, '# Postern under systemd.\n')
    .replace('file:///opt/postern/README.md', `file:///${PAPERS}/README.md`)
    .replace(/^# Where the host's Node .*\nEnvironment=PATH=.*\n/m, '')
    .replaceAll('/opt/postern', `/${PROGRAM}`);
}

function moveDocuments(staging: string, version: string, epoch: number): void {
  const papers = join(staging, PAPERS);
  mkdirSync(papers, { recursive: true });
  for (const name of DOCUMENTS) renameSync(join(staging, PROGRAM, name), join(papers, name));
  // Debian has these two under names and in forms of its own.
  rmSync(join(papers, 'LICENSE'));
  copyFileSync(join(CONFIG, 'copyright'), join(papers, 'copyright'));
  const day = new Date(epoch * 1_000).toUTCString().replace('GMT', '+0000');
  const entry = [
    `postern (${debianVersion(version)}) stable; urgency=medium`,
    `  * /${PAPERS}/CHANGELOG.md says what has changed.`,
    ` -- Postern <${PUBLISHER.contact}>  ${day}`,
  ];
  const input = `${entry.join('\n\n')}\n`;
  writeFileSync(join(papers, 'changelog.gz'), execFileSync('gzip', ['-9n'], { input }));
}

/** What shells and `man` read goes where they look. */
function moveShellFiles(staging: string): void {
  const share = join(staging, PROGRAM, dirname(dirname(dirname(MANUAL))));
  cpSync(share, join(staging, 'usr/share'), { recursive: true });
  rmSync(share, { recursive: true });
  execFileSync('gzip', ['-9n', join(staging, 'usr', MANUAL)]);
}

function add(staging: string, name: string, content: string | Uint8Array, mode = 0o644): void {
  const path = join(staging, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** The rights of files, whatever those of the checkout are; a file that can be run stays so. */
function setModes(staging: string): void {
  execFileSync('chmod', ['-R', 'u+rw,go=rX', staging]);
  chmodSync(join(staging, SETTINGS), 0o640);
}

function hashes(staging: string): string {
  return readdirSync(staging, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [relative(staging, path), path] as const)
    .filter(([name]) => !name.startsWith('DEBIAN/') && name !== SETTINGS)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, path]) => {
      const hash = createHash('md5').update(readFileSync(path)).digest('hex');
      return `${hash}  ${name}\n`;
    })
    .join('');
}
