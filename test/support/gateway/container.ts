// The image of the Dockerfile, built and run by podman of Debian. Test machines may reach only the
// servers of Debian and npm, so the base is made here: Debian by debootstrap with the Node, npm and
// headers of this machine, laid out like the official slim image. It is kept between runs.

import { existsSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { command } from '../network/namespaces.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const BASE = 'localhost/postern-test-base';
/** The tag of the image under test. */
export const IMAGE = 'localhost/postern-test';
const CERTIFICATES = 'etc/ssl/certs/ca-certificates.crt';

/** Runs podman to its end. */
export async function podman(...args: string[]): Promise<string> {
  return (await command('podman', ...runtime(), ...args)).stdout.trim();
}

/** The program and first arguments that run a container, in the foreground or not. */
export function podmanRun(...args: string[]): string[] {
  // A test machine may lack the right to raise limits, which podman tries to do.
  const limits = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024'];
  return ['podman', ...runtime(), 'run', ...limits, ...args];
}

/** With both versions of control groups mounted, runc works and crun refuses. */
function runtime(): string[] {
  return existsSync('/sys/fs/cgroup/unified') ? ['--runtime', 'runc'] : [];
}

/**
 * Builds the image from the current tree; parts that did not change are reused. With IMAGE_ARCHIVE it
 * is the image of a release.
 */
export async function buildImage(): Promise<void> {
  const archive = process.env['IMAGE_ARCHIVE'];
  if (archive !== undefined) {
    const loaded = await podman('load', `--input=${archive}`);
    const name = loaded.split(/\s+/).at(-1) ?? '';
    await podman('tag', name, IMAGE);
    return;
  }
  const hasBase = await podman('image', 'exists', BASE).then(
    () => true,
    () => false,
  );
  if (!hasBase) await makeBase();
  // During a build only the files are isolated: the servers are reached as from this machine.
  await podman(
    'build',
    '--format=docker',
    '--isolation=chroot',
    '--network=host',
    '--layers',
    `--build-arg=BASE=${BASE}`,
    `--tag=${IMAGE}`,
    ROOT,
  );
}

/** Size of the image in megabytes, as podman counts. */
export async function imageMegabytes(): Promise<number> {
  return Number(await podman('image', 'inspect', '--format={{.Size}}', IMAGE)) / 1e6;
}

async function makeBase(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-base-'));
  const npm = realpathSync(await which('npm'));
  const node = join(ROOT, 'node_modules/node/bin/node');
  const script = `
    debootstrap --variant=minbase --include=ca-certificates bookworm "$1" http://deb.debian.org/debian
    cd "$1"
    mkdir -p usr/local/include usr/local/lib/node_modules
    cp "$2" usr/local/bin/node
    cp -r "$3" usr/local/include/node
    cp -r "$4" usr/local/lib/node_modules/npm
    ln -s ../lib/node_modules/npm/bin/npm-cli.js usr/local/bin/npm
    ln -s ../lib/node_modules/npm/bin/npx-cli.js usr/local/bin/npx
    chroot . groupadd --gid 1000 node
    chroot . useradd --uid 1000 --gid node --shell /bin/bash --create-home node
    # Whom this machine trusts, the build trusts.
    cp /${CERTIFICATES} ${CERTIFICATES}
    # The official images hold neither what packages were made from nor what people read.
    rm -rf var/cache/apt/* var/lib/apt/lists/* usr/share/doc/* usr/share/man/* usr/share/locale/*
    tar -c . | podman import --change ENV=NODE_EXTRA_CA_CERTS=/${CERTIFICATES} \\
      --change ENV=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin - ${BASE}
    cd / && rm -rf "$1"`;
  const args = [folder, node, headers(), dirname(dirname(npm))];
  await command('bash', '-euo', 'pipefail', '-c', script, 'make-base', ...args);
}

async function which(program: string): Promise<string> {
  return (await command('which', program)).stdout.trim();
}

/** The headers of Node: Node-API is stable, so those of any Node on the path are enough. */
function headers(): string {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const found = join(dirname(folder), 'include/node');
    if (existsSync(join(found, 'node_api.h'))) return found;
  }
  throw new Error('no headers of Node are on this machine');
}
