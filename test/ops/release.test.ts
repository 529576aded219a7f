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
import { enrol } from '../e2e/people.ts';
import { ADDON, writeParts } from '../../tools/bundle.ts';
import { glibcOf, isNewer } from '../../tools/release/addon.ts';
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
const TIMES_THE_BUNDLE = 1.5;
const STARTS = 5;
const exec = promisify(execFile);
const folder = temporaryFolder('postern-release-check-');
const ARM_LIBRARIES = '/usr/aarch64-linux-gnu';

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
    t.timeout(900_000);
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
    t.is(sums[0]?.split('\n').length, 8, sums[0]);
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

test.serial('the Debian package is installed, used, upgraded, removed and purged', async (t) => {
  t.timeout(600_000);
  const packages = join(folder, 'packages');
  mkdirSync(packages);
  copyFileSync(deb('1.1.0~rc.1'), join(packages, 'new.deb'));
  await older(packages);
  const topology = await buildTopology('pd', API_NETWORK);
  const postern = new Postern(topology.gateway, `${API_NETWORK}.2`);
  const { BOOTSTRAP_API_TOKEN } = postern.environment;
  const settings = { HTTP_HOST: '0.0.0.0', BOOTSTRAP_API_TOKEN };
  const text = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  const machine = await bootMachine(topology.gateway, packages, {
    'etc/postern/postern.env': text.join(''),
  });
  const { run: on } = machine;
  const install = (name: string) =>
    on('dpkg', '--install', '--force-confold', `/opt/postern/${name}.deb`);
  try {
    // This machine may keep packages from starting services.
    await on('rm', '-f', '/usr/sbin/policy-rc.d');
    await install('old');
    await until('it serves', async () => (await postern.readiness()).status === 'ready', 30_000);
    t.is(await on('systemctl', 'is-enabled', 'postern'), 'enabled');
    t.regex(await on('postern', 'version'), /^postern 1\.0\.9 /);
    const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
    const passes = () => until('packets pass', () => canPing(alice.client.host, LAN4), 30_000);
    await passes();
    await install('new');
    await until('it serves', async () => (await postern.readiness()).status === 'ready', 30_000);
    await passes();
    t.regex(await on('postern', 'version'), /^postern 1\.1\.0-rc\.1 /);
    t.regex(await on('postern', 'user', 'list'), /a@example\.test/);
    t.regex(await on('sh', '-c', 'postern dance 2>&1 || true'), /see: postern help$/);

    // The data of a checkout, moved as the guide says.
    const [move = ''] =
      /^systemctl stop postern && .*$/m.exec(
        readFileSync(join(ROOT, 'docs/guides/debian.md'), 'utf8'),
      ) ?? [];
    await on('sh', '-c', 'mkdir /root/old && cp -a /var/lib/postern/. /root/old/data');
    await on('chown', '-R', 'root:root', '/root/old');
    await on('postern', 'user', 'create', '--email', 'late@example.test');
    await on('sh', '-c', move.replaceAll('/opt/postern/data', '/root/old/data'));
    await until('it serves', async () => (await postern.readiness()).status === 'ready', 30_000);
    await passes();
    t.notRegex(await on('postern', 'user', 'list'), /late@example\.test/);

    await on('dpkg', '--remove', 'postern');
    t.is((await on('sh', '-c', 'systemctl is-active postern || true')).trim(), 'inactive');
    t.is(await on('sh', '-c', 'ls -d /usr/lib/postern /usr/bin/postern 2>/dev/null || true'), '');
    await on('test', '-e', '/var/lib/private/postern/encryption.key');
    await install('new');
    await until('it serves', async () => (await postern.readiness()).status === 'ready', 30_000);
    await passes();
    await on('dpkg', '--purge', 'postern');
    const left = 'ls -d /etc/postern /var/lib/postern /var/lib/private/postern /var/cache/postern*';
    t.is(await on('sh', '-c', `${left} /usr/lib/postern 2>/dev/null || true`), '');
  } catch (error) {
    t.log(await on('journalctl', '--unit=postern', '--lines=30').catch(String));
    throw error;
  } finally {
    await machine.remove();
    await topology.network.remove();
  }
});

/** The package once more, with a version that is lower. */
async function older(packages: string): Promise<void> {
  const tree = join(folder, 'older');
  await run('dpkg-deb', '-R', deb('1.1.0~rc.1'), tree);
  for (const [name, from, to] of [
    ['DEBIAN/control', '1.1.0~rc.1', '1.0.9'],
    ['usr/lib/postern/package.json', VERSION, '1.0.9'],
  ] as const) {
    const text = readFileSync(join(tree, name), 'utf8');
    writeFileSync(join(tree, name), text.replace(from, to));
  }
  await run('dpkg-deb', '-Zgzip', '-z1', '--build', tree, join(packages, 'old.deb'));
}
