// A machine that systemd boots: Debian's own systemd as the first process of a container, on an
// overlay of this machine's files, so that nothing of them changes. Nothing but systemd itself runs
// there. It needs the packages systemd and systemd-container, and root.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { command, type Host, stop } from '../network/namespaces.ts';
import { until } from './postern.ts';

/** Of this machine's services none is to run there. */
const OWN_SERVICES = ['system', 'user'].map((kind) => `etc/systemd/${kind}`);

/** So long a program may run there: apt installs for minutes where the disk is busy. */
const SECONDS_MOST = '300';

/** A booted machine. */
export interface Machine {
  /** Runs a program on it to its end; what it printed. */
  readonly run: (...words: string[]) => Promise<string>;
  /** Shuts it down; its files are gone. */
  readonly remove: () => Promise<void>;
}

/**
 * Boots a machine in a host's network, with the folder `program` as /opt/postern, a Node that can run
 * it, and files of its own.
 */
export async function bootMachine(
  { namespace }: Host,
  program: string,
  files: Readonly<Record<string, string>>,
): Promise<Machine> {
  await command('systemd-nspawn', '--version');
  const folder = mkdtempSync(join(tmpdir(), 'postern-machine-'));
  const [root, upper, work] = ['root', 'upper', 'work'].map((name) => join(folder, name));
  await command('mount', '-t', 'tmpfs', 'postern-machine', folder);
  for (const path of [root, upper, work]) mkdirSync(String(path));
  const layers = `lowerdir=/,upperdir=${upper},workdir=${work}`;
  await command('mount', '-t', 'overlay', 'overlay', '-o', layers, String(root));
  const path = (name: string): string => join(String(root), name);
  for (const name of OWN_SERVICES) rmSync(path(name), { recursive: true, force: true });
  mkdirSync(path('opt/postern'), { recursive: true });
  // A machine without an id takes itself for a new one, and enables whatever is installed.
  const own = { 'etc/fstab': '', 'etc/machine-id': `${'0'.repeat(31)}1\n`, ...files };
  for (const [name, text] of Object.entries(own)) {
    mkdirSync(join(path(name), '..'), { recursive: true });
    writeFileSync(path(name), text, { mode: 0o600 });
  }
  const child = spawn('systemd-nspawn', nspawnArguments(String(root), namespace, program), {
    stdio: 'ignore',
    env: {
      ...process.env,
      SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1',
      SYSTEMD_NSPAWN_API_VFS_WRITABLE: 'network',
    },
  });
  const run = async (...words: string[]): Promise<string> => {
    const children = `/proc/${child.pid}/task/${child.pid}/children`;
    const first = readFileSync(children, 'utf8').trim();
    const spaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup'];
    const entered = ['nsenter', `--target=${first}`, ...spaces, 'env', '-i', PATH, ...words];
    return (await command('timeout', SECONDS_MOST, ...entered)).stdout.trim();
  };
  const remove = async (): Promise<void> => {
    await stop(child, 20_000);
    await command('umount', '--recursive', folder);
    rmSync(folder, { recursive: true });
  };
  try {
    await until(
      'systemd is up',
      async () => (await run('systemctl', 'is-system-running').catch(String)) === 'running',
      30_000,
    );
    // As udev makes it on a host: everybody may open it, and CAP_NET_ADMIN decides.
    await run('chmod', '0666', '/dev/net/tun');
    return { run, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function nspawnArguments(root: string, namespace: string, program: string): string[] {
  return [
    '--boot',
    '--quiet',
    '--keep-unit',
    '--register=no',
    `--directory=${root}`,
    '--machine=postern-unit',
    `--network-namespace-path=/run/netns/${namespace}`,
    '--capability=all',
    `--bind-ro=${program}:/opt/postern`,
    `--bind-ro=${process.execPath}:/usr/local/bin/node`,
    '--resolv-conf=off',
    '--timezone=off',
    '--link-journal=no',
    '--console=pipe',
    'systemd.unit=basic.target',
  ];
}
