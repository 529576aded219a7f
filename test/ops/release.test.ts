// A release as strangers take it: made by the command, the same bytes twice, and tried on systems
// of its own. It takes minutes, so `npm run release:check` runs it, and test:soak.

import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { parseAllDocuments } from 'yaml';
import { enrol } from '../e2e/people.ts';
import { ADDON, writeParts } from '../../tools/bundle.ts';
import { glibcOf, isNewer } from '../../tools/release/addon.ts';
import { addToRepository, sourcesFor } from '../../tools/release/apt.ts';
import { KEY, loadReleased } from '../models/migrations/released-databases.ts';
import { programRoot } from '../support/gateway/bundle.ts';
import { median, readyMs } from '../support/gateway/ready-time.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { bootMachine } from '../support/gateway/systemd-machine.ts';
import { buildTopology, canPing, GATEWAY4, LAN4 } from '../support/network/topology.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const OUTPUT = join(ROOT, 'dist/release');
const VERSION = '1.1.0-rc.1';
const API_NETWORK = '10.255.92';
const MEGABYTES_MOST = 55;
const PULL_MB_MOST = 95;
const TIMES_THE_BUNDLE = 1.5;
const STARTS = 5;
const BACKUPS = '/var/lib/postern-backups';
const ENABLED = 'enabled\nenabled';
const SOURCES = 'etc/apt/sources.list.d/postern.sources';
const KEYRING = '/opt/postern/repository/public/postern.asc';
/** apt asks this repository alone, and nobody. */
const APT_OPTIONS = [
  '--yes',
  '--quiet=2',
  '--no-install-recommends',
  '--option=APT::Sandbox::User=root',
  '--option=Dpkg::Options::=--force-confold',
  `--option=Dir::Etc::sourcelist=/${SOURCES}`,
  '--option=Dir::Etc::sourceparts=/dev/null',
];
const FIRST_DATABASE =
  'cd /var/lib/postern/ && find . -mindepth 1 -delete && cp /opt/postern/first.sqlite postern.sqlite';
const GIVEN = 'chmod 0600 encryption.key && chown -R --reference=. .';
const exec = promisify(execFile);
const folder = temporaryFolder('postern-release-check-');
const ARM_LIBRARIES = '/usr/aarch64-linux-gnu';

/** All files of a release but the hashes and their signature. */
const FILES = [
  'LICENSES.md',
  'RELEASE-NOTES.md',
  `postern-${VERSION}-deployment.tar.gz`,
  `postern-${VERSION}-image.tar`,
  `postern-${VERSION}-linux-arm64.tar.gz`,
  `postern-${VERSION}-linux-x64.tar.gz`,
  `postern-${VERSION}.cdx.json`,
  `postern-${VERSION}.tgz`,
  `postern-client-${VERSION}.tgz`,
  'postern_1.1.0~rc.1_amd64.deb',
  'postern_1.1.0~rc.1_arm64.deb',
];

/** What each way to run it on Kubernetes comes to. */
const KINDS = [
  'CronJob',
  'Namespace',
  'PersistentVolumeClaim',
  'Secret',
  'Service',
  'Service',
  'StatefulSet',
];

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly stringData?: Readonly<Record<string, string>>;
}

type Models = Readonly<Record<string, new (data: object) => { validate(): void }>>;

interface Platform {
  readonly digest: string;
  readonly platform: { readonly architecture: string };
}

const deb = (version: string, architecture = 'amd64'): string =>
  join(OUTPUT, `postern_${version}_${architecture}.deb`);

async function run(program: string, ...words: string[]): Promise<string> {
  return (await exec(program, words, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

/** A command in the network of the machine: it asks a registry or a mirror. */
async function outside(...words: string[]): Promise<string> {
  const out = process.env['OUTSIDE'];
  const [program = '', ...rest] = out === undefined ? words : ['nsenter', `--net=${out}`, ...words];
  return run(program, ...rest);
}

/** Unpacks the archive for a kind of machine; the folder of the program. */
async function unpacked(parent: string, architecture: string): Promise<string> {
  mkdirSync(parent, { recursive: true });
  await run(
    'tar',
    '-xzf',
    join(OUTPUT, `postern-${VERSION}-linux-${architecture}.tar.gz`),
    '-C',
    parent,
  );
  return join(parent, 'postern');
}

test.serial(
  'the same sources make the same bytes, which can be downloaded and trusted',
  async (t) => {
    t.timeout(1_800_000);
    const key = join(folder, 'minisign.key');
    const publicKey = join(folder, 'minisign.pub');
    await run('minisign', '-G', '-W', '-s', key, '-p', publicKey);
    const sums: string[] = [];
    for (const umask of ['022', '077']) {
      const command = `umask ${umask}; MINISIGN_KEY=${key} npm run -s release -- ${VERSION}`;
      await outside('sh', '-c', command);
      sums.push(readFileSync(join(OUTPUT, 'SHA256SUMS'), 'utf8'));
    }
    t.is(sums[0], sums[1]);
    t.deepEqual(
      [...(sums[0] ?? '').matchAll(/^[0-9a-f]{64} {2}(.*)$/gm)].map(([, name]) => name),
      FILES,
    );
    await run('minisign', '-V', '-p', publicKey, '-m', join(OUTPUT, 'SHA256SUMS'));
    await run('sh', '-c', `cd ${OUTPUT} && sha256sum --check --strict SHA256SUMS`);
    for (const architecture of ['x64', 'arm64']) {
      const archive = join(OUTPUT, `postern-${VERSION}-linux-${architecture}.tar.gz`);
      const megabytes = readFileSync(archive).length / 1e6;
      t.log(`${architecture}: ${megabytes.toFixed(1)} MB`);
      t.true(megabytes <= MEGABYTES_MOST, archive);
    }
  },
);

test.serial('lintian has nothing to refuse', async (t) => {
  for (const architecture of ['amd64', 'arm64']) {
    const words = ['--allow-root', '--fail-on=error', deb('1.1.0~rc.1', architecture)];
    // It ends with 2 where it finds an error.
    await t.notThrowsAsync(run('lintian', ...words));
  }
});

test.serial(
  'the archive starts in an empty Debian of the oldest kind, as soon as the bundle',
  async (t) => {
    t.timeout(900_000);
    const root = join(folder, 'bullseye');
    const mirror = 'http://deb.debian.org/debian';
    await outside('debootstrap', '--variant=minbase', 'bullseye', root, mirror);
    await unpacked(join(root, 'opt'), 'x64');
    for (const name of ['node', 'npm', 'g++'])
      t.not(spawnSync('chroot', [root, 'sh', '-c', `command -v ${name}`]).status, 0, name);
    const version = await run('chroot', root, '/opt/postern/lib/postern', 'version');
    t.regex(version, /^postern 1\.1\.0-rc\.1 \(schema .*\)\nNode 24\./);
    const times = { release: [] as number[], bundle: [] as number[] };
    for (let i = 0; i < STARTS; i += 1) {
      times.release.push(await readyMs(['chroot', root, '/opt/postern/lib/postern'], root));
      times.bundle.push(await readyMs([join(programRoot(), 'lib/postern')], ''));
    }
    const [release, bundle] = [median(times.release), median(times.bundle)];
    t.log(`ready in ${release.toFixed(0)} ms, the bundle in ${bundle.toFixed(0)} ms`);
    t.true(release <= bundle * TIMES_THE_BUNDLE, JSON.stringify(times));
  },
);

test.serial('a project without a compiler tests against the package, with its addon', async (t) => {
  t.timeout(300_000);
  const project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "type": "module", "private": true }');
  const program = `import { createGateway } from 'postern/testing';
    import { createClient } from 'postern-client';
    await using gateway = await createGateway({ settings: { DATAPLANE_ENGINE: 'native' } });
    const laptop = await gateway.addDevice({ name: 'laptop' });
    gateway.host('10.0.0.5');
    await laptop.ping('10.0.0.5');
    const api = createClient({ url: await gateway.listen(), token: gateway.token });
    const { data } = await api.GET('/v0/devices');
    console.log(data.data[0].name === 'laptop' ? 'passed' : data);`;
  writeFileSync(join(project, 'try.js'), program);
  const packages = ['postern', 'postern-client'].map((name) => `${name}-${VERSION}.tgz`);
  const install = ['npm', 'install', '--no-audit', ...packages.map((name) => join(OUTPUT, name))];
  // CXX names no compiler, wherever one is.
  await outside('env', '--chdir', project, 'CXX=no-compiler', ...install);
  t.regex(await run(process.execPath, join(project, 'try.js')), /^passed\n$/);
});

test.serial('a system of musl gets one sentence', async (t) => {
  const root = join(folder, 'musl');
  await unpacked(join(root, 'opt'), 'x64');
  mkdirSync(join(root, 'bin'));
  copyFileSync('/bin/busybox', join(root, 'bin/busybox'));
  for (const name of ['sh', 'dirname', 'readlink']) symlinkSync('busybox', join(root, 'bin', name));
  const words = [root, '/opt/postern/lib/postern', 'serve'];
  const { status, stderr } = spawnSync('/usr/sbin/chroot', words, {
    encoding: 'utf8',
    env: { PATH: '/bin' },
  });
  t.is(status, 1);
  t.regex(stderr, /^postern: this release is for linux x64 with glibc .* Alpine.*\n$/);
});

test.serial(
  'on arm64 help is shown, the addon is loaded, and a gateway in memory answers a ping',
  async (t) => {
    t.timeout(600_000);
    const program = await unpacked(join(folder, 'arm64'), 'arm64');
    const addon = join(program, ADDON);
    t.false(isNewer(glibcOf(addon)), glibcOf(addon));
    const shim = join(folder, 'qemu-node');
    const emulated = ['qemu-aarch64-static', '-L', ARM_LIBRARIES, join(program, 'runtime/node')];
    writeFileSync(shim, `#!/bin/sh\nexec ${emulated.join(' ')} "$@"\n`);
    chmodSync(shim, 0o755);
    t.is((await run(shim, '-p', 'process.arch')).trim(), 'arm64');
    const loaded = `Object.keys(require(${JSON.stringify(addon)})).length > 10`;
    t.is((await run(shim, '-p', loaded)).trim(), 'true');
    t.regex(await run(shim, join(program, 'lib/start/postern.js'), 'help'), /device create/);
    // The gateway in memory is no part of a release; it is bundled like the package for tests.
    const trial = join(folder, 'trial');
    await writeParts(trial, { entries: ['lib/testing/index.ts'] });
    for (const name of ['node_modules', 'package.json', ADDON])
      cpSync(join(program, name), join(trial, name), { recursive: true });
    writeFileSync(
      join(trial, 'trial.js'),
      `import { createGateway } from './lib/testing/index.js';
     await using gateway = await createGateway({ settings: { DATAPLANE_ENGINE: 'native' } });
     const laptop = await gateway.addDevice({ name: 'laptop' });
     gateway.host('10.0.0.5');
     await laptop.ping('10.0.0.5');
     process.stdout.write('passed\\n');`,
    );
    t.regex(await run(shim, join(trial, 'trial.js')), /^passed\n$/);
  },
);

for (const variant of ['sqlite', 'mysql', 'restricted'])
  test.serial(`kubectl renders ${variant}, and Kubernetes knows what comes of it`, async (t) => {
    const deployment = `postern-${VERSION}-deployment`;
    await run('tar', '-xzf', join(OUTPUT, `${deployment}.tar.gz`), '-C', folder);
    const text = await run('kubectl', 'kustomize', join(folder, deployment, 'kubernetes', variant));
    const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
    t.deepEqual(manifests.map(({ kind }) => kind).toSorted(), KINDS);
    for (const manifest of manifests) {
      const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Models;
      t.notThrows(() => new models[manifest.kind]!(manifest).validate(), manifest.kind);
    }
    const images = [...text.matchAll(/ image: (.*)$/gm)].map(([, image]) => image ?? '');
    t.is(images.length, variant === 'restricted' ? 2 : 3);
    for (const image of images) t.regex(image, /^localhost\/postern@sha256:[0-9a-f]{64}$/);
    // The gateway and its backups open one database.
    const keys = text.match(/name: DATABASE_ENCRYPTION_KEY$/gm)?.length ?? 0;
    t.is(keys, variant === 'mysql' ? 2 : 0);
    const { stringData = {} } = manifests.find(({ kind }) => kind === 'Secret')!;
    t.true('METRICS_TOKEN' in stringData);
    t.is('DATABASE_ENCRYPTION_KEY' in stringData, variant === 'mysql');
  });

test.serial('the image is small, and its digest is what the compose files name', async (t) => {
  t.timeout(300_000);
  const layout = join(folder, 'layout');
  mkdirSync(layout);
  await run('tar', '-xf', join(OUTPUT, `postern-${VERSION}-image.tar`), '-C', layout);
  const read = <Kind>(name: string): Kind =>
    JSON.parse(readFileSync(join(layout, name), 'utf8')) as Kind;
  const blob = (digest: string): string => join('blobs', digest.replace(':', '/'));
  const [{ digest }] = read<{ manifests: [{ digest: string }] }>('index.json').manifests;
  const compose = join(folder, `postern-${VERSION}-deployment`, 'compose.yaml');
  t.true(readFileSync(compose, 'utf8').includes(`image: localhost/postern@${digest}\n`));
  const { manifests } = read<{ manifests: Platform[] }>(blob(digest));
  t.deepEqual(
    manifests.map(({ platform }) => platform.architecture),
    ['amd64', 'arm64'],
  );
  for (const { digest: manifest, platform } of manifests) {
    const { layers } = read<{ layers: { size: number }[] }>(blob(manifest));
    const megabytes = layers.reduce((sum, { size }) => sum + size, 0) / 1e6;
    t.log(`${platform.architecture}: ${megabytes.toFixed(1)} MB to pull`);
    t.true(megabytes > 20 && megabytes <= PULL_MB_MOST, platform.architecture);
  }
});

test.serial('apt installs, upgrades, removes and purges the package', async (t) => {
  t.timeout(900_000);
  const packages = join(folder, 'packages');
  const release = async (version: string): Promise<void> => {
    await repacked(version, join(packages, version));
    addToRepository(join(packages, 'repository'), join(packages, version), key);
  };
  mkdirSync(packages);
  const key = await signingKey();
  const database = join(packages, 'first.sqlite');
  await loadReleased(`sqlite:${database}`, '0001', 'sqlite');
  await release('1.0.9');
  const topology = await buildTopology('pd', API_NETWORK);
  const postern = new Postern(topology.gateway, `${API_NETWORK}.2`);
  const { BOOTSTRAP_API_TOKEN } = postern.environment;
  const settings = { HTTP_HOST: '0.0.0.0', BOOTSTRAP_API_TOKEN };
  const text = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  const machine = await bootMachine(topology.gateway, packages, {
    'etc/postern/postern.env': text.join(''),
    [SOURCES]: sourcesFor('file:/opt/postern/repository/public', KEYRING),
  });
  const { run: on } = machine;
  const apt = async (...words: string[]): Promise<string> => {
    await on('apt-get', ...APT_OPTIONS, 'update');
    return on('env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...APT_OPTIONS, ...words);
  };
  const serves = () =>
    until('it serves', async () => (await postern.readiness()).status === 'ready', 30_000);
  try {
    // This machine may keep packages from starting services.
    await on('rm', '-f', '/usr/sbin/policy-rc.d');
    await apt('install', 'postern');
    await serves();
    t.is(await on('systemctl', 'is-enabled', 'postern', 'postern-backup.timer'), ENABLED);
    t.regex(await on('postern', 'version'), /^postern 1\.0\.9 /);
    const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
    const passes = () => until('packets pass', () => canPing(alice.client.host, LAN4), 30_000);
    await passes();
    await release('1.1.0');
    await apt('install', '--only-upgrade', 'postern');
    await serves();
    await passes();
    t.regex(await on('postern', 'version'), /^postern 1\.1\.0 /);
    t.regex(await on('postern', 'user', 'list'), /a@example\.test/);
    t.regex(await on('sh', '-c', 'postern dance 2>&1 || true'), /see: postern help$/);

    // A backup, as the timer asks for it each night.
    await on('systemctl', 'start', 'postern-backup');
    t.regex(await on('ls', '-l', BACKUPS), /^-rw------- 1 root root .* postern-\d{8}T.*\.backup$/m);
    t.regex(await on('postern', 'doctor', '--json'), /the last backup that was read back is of 20/);
    t.is(await on('find', '/var/lib/private/postern', '-user', 'root'), '', 'it is the service’s');

    // The data of a checkout, moved as the guide says.
    const [move = ''] =
      /^systemctl stop postern && .*$/m.exec(
        readFileSync(join(ROOT, 'docs/guides/debian.md'), 'utf8'),
      ) ?? [];
    await on('sh', '-c', 'mkdir /root/old && cp -a /var/lib/postern/. /root/old/data');
    await on('chown', '-R', 'root:root', '/root/old');
    await on('postern', 'user', 'create', '--email', 'late@example.test');
    await on('sh', '-c', move.replaceAll('/opt/postern/data', '/root/old/data'));
    await serves();
    await passes();
    t.notRegex(await on('postern', 'user', 'list'), /late@example\.test/);

    await apt('remove', 'postern');
    t.is((await on('sh', '-c', 'systemctl is-active postern || true')).trim(), 'inactive');
    t.is(await on('sh', '-c', 'ls -d /usr/lib/postern /usr/bin/postern 2>/dev/null || true'), '');
    await on('test', '-e', '/var/lib/private/postern/encryption.key');
    await apt('install', 'postern');
    await serves();
    await passes();
    await apt('purge', 'postern');
    const left = 'ls -d /etc/postern /var/lib/postern /var/lib/private/postern /var/cache/postern*';
    t.is(await on('sh', '-c', `${left} /usr/lib/postern 2>/dev/null || true`), '');
    t.regex(await on('ls', BACKUPS), /^postern-/, 'backups stay');

    // An upgrade on the database of the first version.
    await on('dpkg', '--install', '/opt/postern/1.0.9/postern_1.0.9_amd64.deb');
    await on('systemctl', 'stop', 'postern');
    await on(
      'sh',
      '-c',
      `${FIRST_DATABASE} && printf %s "$1" > encryption.key && ${GIVEN}`,
      'sh',
      KEY.toString('base64'),
    );
    await apt('install', '--only-upgrade', 'postern');
    // Without settings it listens for this machine alone.
    t.is(await on('systemctl', 'is-active', 'postern'), 'active');
    t.regex(await on('ls', '/var/lib/postern/'), /^before-upgrade-0001-.*\.backup$/m);
    t.regex(await on('postern', 'version'), /^postern 1\.1\.0 /);
  } catch (error) {
    t.log(await on('journalctl', '--unit=postern', '--lines=30').catch(String));
    throw error;
  } finally {
    await machine.remove();
    await topology.network.remove();
  }
});

/** The package once more, with another version, in a folder of its own. */
async function repacked(version: string, release: string): Promise<void> {
  const tree = join(folder, `tree-${version}`);
  await run('dpkg-deb', '-R', deb('1.1.0~rc.1'), tree);
  for (const [name, from] of [
    ['DEBIAN/control', '1.1.0~rc.1'],
    ['usr/lib/postern/package.json', VERSION],
  ] as const) {
    const text = readFileSync(join(tree, name), 'utf8');
    writeFileSync(join(tree, name), text.replace(from, version));
  }
  mkdirSync(release);
  const file = join(release, `postern_${version}_amd64.deb`);
  await run('dpkg-deb', '-Zgzip', '-z1', '--build', tree, file);
}

/** A key of gpg that only this test knows. */
async function signingKey(): Promise<string> {
  process.env['GNUPGHOME'] = join(folder, 'gnupg');
  mkdirSync(process.env['GNUPGHOME'], { mode: 0o700 });
  const words = ['--batch', '--quiet', '--passphrase', '', '--quick-generate-key'];
  await run('gpg', ...words, 'Postern <p@example.test>', 'ed25519', 'sign', 'never');
  const keys = await run('gpg', '--list-keys', '--with-colons');
  return /^fpr:+(\w+):/m.exec(keys)?.[1] ?? '';
}
