// Makes a release: `npm run release -- VERSION` leaves dist/release/ and nothing else. It holds an
// archive and a Debian package for each kind of machine, which bring their Node along, the
// container image with the files that run it, the packages for other projects, the release
// notes, the bill of materials, the licences, and the hashes of all. The same sources make the same
// bytes. `-- VERSION x64` makes it for that kind of machine alone.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { packClient } from './client.ts';
import { packTesting } from './package.ts';
import { CONTACT_PAGES } from './publisher.ts';
import { buildAddon } from './release/addon.ts';
import { pack } from './release/archive.ts';
import { ARCHITECTURES } from './release/architectures.ts';
import { debianVersion, makePackage } from './release/debian.ts';
import { writeDeployment } from './release/deployment.ts';
import {
  checkVersion,
  isTrial,
  notesOf,
  readPage,
  refusePlaceholders,
  sourceEpoch,
} from './release/notes.ts';
import { Image } from './release/image.ts';
import { refuseMissing } from './release/needed.ts';
import { makeProgram } from './release/program.ts';
import { sign, writeSums } from './release/sums.ts';
import { billOfMaterials } from './sbom.ts';

const ROOT = resolve(import.meta.dirname, '..');
const OUTPUT = join(ROOT, 'dist/release');

/** What a release is made with; throws where one may not be made. */
function planOf(version: string | undefined, only: string | undefined) {
  if (version === undefined) throw new Error('which version? npm run release -- VERSION');
  checkVersion(version);
  const wanted = ARCHITECTURES.filter(({ name }) => only === undefined || only === name);
  if (wanted.length === 0) throw new Error(`no release is made for ${only}`);
  const notes = notesOf(readPage('CHANGELOG.md'), version);
  if (!isTrial(version)) for (const page of CONTACT_PAGES) refusePlaceholders(page, readPage(page));
  refuseMissing(wanted);
  return { version, wanted, notes, epoch: sourceEpoch() };
}

/** The plan for the words behind the command; a refusal is one line, and no bug of this program. */
function planOrEnd([version, only]: readonly string[]): ReturnType<typeof planOf> {
  try {
    return planOf(version, only);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return process.exit(1);
  }
}

const { version, wanted, notes, epoch } = planOrEnd(process.argv.slice(2));

rmSync(OUTPUT, { recursive: true, force: true });
mkdirSync(OUTPUT, { recursive: true });
const staging = mkdtempSync(join(tmpdir(), 'postern-release-'));
try {
  const addons: Record<string, string> = {};
  const image = new Image(join(staging, 'image'), { version, epoch });
  for (const architecture of wanted) {
    const addon = buildAddon(join(staging, `addon-${architecture.name}`), architecture);
    addons[`linux-${architecture.name}`] = addon;
    await makeProgram(join(staging, 'postern'), version, architecture, addon);
    const archive = `postern-${version}-linux-${architecture.name}.tar.gz`;
    pack(join(OUTPUT, archive), staging, 'postern', epoch);
    const system = join(staging, `image-${architecture.name}`);
    mkdirSync(system);
    await image.add(architecture, join(staging, 'postern'), system);
    const file = `postern_${debianVersion(version)}_${architecture.debian}.deb`;
    const release = { version, architecture, epoch };
    const debian = join(staging, `debian-${architecture.name}`);
    makePackage(join(OUTPUT, file), join(staging, 'postern'), debian, release);
  }
  const digest = image.pack(join(OUTPUT, `postern-${version}-image.tar`));
  const deployment = `postern-${version}-deployment`;
  writeDeployment(join(staging, deployment), digest);
  pack(join(OUTPUT, `${deployment}.tar.gz`), staging, deployment, epoch);
  await packTesting(OUTPUT, { version, addons });
  packClient(OUTPUT, version);
} finally {
  rmSync(staging, { recursive: true, force: true });
}
writeFileSync(join(OUTPUT, 'RELEASE-NOTES.md'), notes);
writeFileSync(join(OUTPUT, `postern-${version}.cdx.json`), billOfMaterials({ version, epoch }));
cpSync(join(ROOT, 'LICENSES.md'), join(OUTPUT, 'LICENSES.md'));
writeSums(OUTPUT);
process.stdout.write(`${OUTPUT}${sign(OUTPUT, version) ? '' : ', not signed: see MINISIGN_KEY'}\n`);
