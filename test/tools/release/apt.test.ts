// The repository for apt: apt takes what it holds, upgrades to what comes later, and trusts the key.

import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { addToRepository, keyOf, sourcesFor } from '../../../tools/release/apt.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const folder = temporaryFolder('postern-apt-');
const repository = join(folder, 'repository');
const served = join(repository, 'public');
const INSTALLED = `Package: postern\nStatus: install ok installed\nVersion: 1.0.9\nArchitecture: amd64
Maintainer: P <p@example.test>\nDescription: x\n\n`;

test('apt upgrades to the release that was added last, and from a changed repository to nothing', (t) => {
  const key = signingKey();
  t.teardown(() => spawnSync('gpgconf', ['--kill', 'all']));
  for (const version of ['1.0.9', '1.1.0']) addToRepository(repository, released(version), key);
  t.regex(apt('update').stdout, /InRelease/);
  t.is(
    apt('-s', 'upgrade').stdout.match(/^Inst .*/m)?.[0],
    'Inst postern [1.0.9] (1.1.0 Postern:stable [amd64])',
  );
  const fetched = apt('--download-only', '--yes', 'upgrade');
  t.is(fetched.status, 0, fetched.stderr);
  t.is(sourcesFor('https://a.example', '/etc/apt/keyrings/postern.asc').split('\n').length, 6);

  rmSync(join(folder, 'apt/lists'), { recursive: true });
  mkdirSync(join(folder, 'apt/lists/partial'), { recursive: true });
  appendFileSync(join(served, 'dists/stable/main/binary-amd64/Packages'), '\n');
  appendFileSync(join(served, 'dists/stable/main/binary-amd64/Packages.gz'), 'x');
  const refused = apt('update');
  t.not(refused.status, 0);
  t.regex(refused.stderr, /Hash Sum mismatch|unexpected size/);
});

test('a trial, and no package at all, are refused, and so is a release that nobody signs', (t) => {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const add = (from: string) => () => addToRepository(join(folder, 'none'), from, 'x');
  t.throws(add(empty), { message: /holds no package; first: npm run release/ });
  t.throws(add(released('1.1.0~rc.1')), { message: /is a trial/ });
  t.throws(() => keyOf({}), { message: /APT_KEY is to name the key/ });
  t.is(keyOf({ APT_KEY: 'F00D' }), 'F00D');
});

/** A key of gpg that only this test knows. */
function signingKey(): string {
  process.env['GNUPGHOME'] = join(folder, 'gnupg');
  mkdirSync(process.env['GNUPGHOME'], { mode: 0o700 });
  const words = ['--batch', '--quiet', '--passphrase', '', '--quick-generate-key'];
  execFileSync('gpg', [...words, 'Postern <p@example.test>', 'ed25519', 'sign', 'never']);
  const keys = execFileSync('gpg', ['--list-keys', '--with-colons'], { encoding: 'utf8' });
  return /^fpr:+(\w+):/m.exec(keys)?.[1] ?? '';
}

/** The folder of a release with a package that holds nothing. */
function released(version: string): string {
  const tree = join(folder, `tree-${version}`);
  const release = join(folder, `release-${version}`);
  for (const path of [join(tree, 'DEBIAN'), release]) mkdirSync(path, { recursive: true });
  const control = `Package: postern\nVersion: ${version}\nArchitecture: amd64\nSection: net
Priority: optional\nMaintainer: P <p@example.test>\nDescription: x\n`;
  writeFileSync(join(tree, 'DEBIAN/control'), control);
  const file = join(release, `postern_${version}_amd64.deb`);
  execFileSync('dpkg-deb', ['--build', tree, file], { stdio: 'ignore' });
  return release;
}

/** Asks apt on a system that is nothing but a folder. */
function apt(...words: string[]): { status: number | null; stdout: string; stderr: string } {
  const state = join(folder, 'apt');
  for (const path of ['lists/partial', 'cache/archives/partial', 'etc/preferences.d'])
    mkdirSync(join(state, path), { recursive: true });
  writeFileSync(join(state, 'status'), INSTALLED);
  const text = sourcesFor(`file:${served}`, join(served, 'postern.asc'));
  writeFileSync(join(state, 'postern.sources'), text);
  const options = {
    'APT::Architecture': 'amd64',
    'APT::Architectures': 'amd64',
    'APT::Sandbox::User': 'root',
    'Debug::NoLocking': 'true',
    'Dir::Cache': join(state, 'cache'),
    'Dir::Etc::parts': '/dev/null',
    'Dir::Etc::preferencesparts': join(state, 'etc/preferences.d'),
    'Dir::Etc::sourcelist': join(state, 'postern.sources'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State': state,
    'Dir::State::lists': join(state, 'lists'),
    'Dir::State::status': join(state, 'status'),
  };
  const given = Object.entries(options).map(([name, value]) => `--option=${name}=${value}`);
  return spawnSync('apt-get', [...given, ...words], { encoding: 'utf8' });
}
