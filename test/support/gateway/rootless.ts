// A gateway as `npm run start:rootless` starts it, for a user who has no rights.

import { chownSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import type { ExecutionContext } from 'ava';
import type { Host } from '../network/namespaces.ts';
import { API_ADDRESS, buildTopology, LAN4, LAN6, type Topology } from '../network/topology.ts';
import { temporaryFolder } from '../suite/temporary-folder.ts';
import { programRoot } from './bundle.ts';
import { Postern } from './postern.ts';

const NOBODY = 65_534;
/**
 * Becomes the launcher, as a user who owns nothing but its folder. The user sees the program, Node,
 * and a TUN that everybody may open, as udev makes it, at places of its own.
 */
const AS_NOBODY = `
  mount --bind "$PROGRAM" "$OWN/program"
  mount --bind "$NODE" "$OWN/node"
  mount -t tmpfs -o mode=755 tmpfs "$OWN/dev"
  mknod -m 0666 "$OWN/dev/tun" c 10 200 && mount --bind "$OWN/dev/tun" /dev/net/tun
  exec setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups "$OWN/program/lib/postern" serve-rootless`;

/** What a gateway is started with. */
export interface RootlessStart {
  readonly settings: Readonly<Record<string, string>>;
  readonly wrapper: readonly string[];
}

/**
 * Prepares a host, which needs a default route, and a folder for the user. Nobody is asked for
 * rights later.
 */
export async function prepareRootless(host: Host): Promise<RootlessStart> {
  // Debian's systemd lets all users ask for echoes; a new network lets none.
  await host.run('sysctl', '-qw', `net.ipv4.ping_group_range=0 ${NOBODY}`);
  const own = temporaryFolder('postern-rootless-');
  for (const name of ['', 'program', 'node', 'dev', 'data', 'cache']) {
    if (name !== '') mkdirSync(join(own, name));
    chownSync(join(own, name), NOBODY, NOBODY);
  }
  const settings = {
    OWN: own,
    PROGRAM: programRoot(),
    NODE: dirname(process.execPath),
    PATH: `${own}/node:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: own,
    DATA_DIR: join(own, 'data'),
    NODE_COMPILE_CACHE: join(own, 'cache'),
  };
  return { settings, wrapper: ['unshare', '--mount', 'sh', '-euc', AS_NOBODY] };
}

/**
 * Builds a host with a way out, and a gateway on it that is not started yet. `limit`: a program and
 * its arguments that take something away from the gateway.
 */
export async function buildRootless(
  t: ExecutionContext,
  prefix: string,
  { settings = {}, limit = [] }: { settings?: Record<string, string>; limit?: string[] } = {},
): Promise<{ topology: Topology; postern: Postern }> {
  t.timeout(120_000);
  const topology = await buildTopology(prefix);
  t.teardown(() => topology.network.remove());
  const { gateway, lan } = topology;
  await gateway.ip('route', 'add', 'default', 'via', LAN4);
  await gateway.ip('route', 'add', 'default', 'via', LAN6);
  // The networks of both clients.
  await lan.ip('route', 'add', '192.0.2.0/23', 'via', '198.51.100.1');
  const { settings: own, wrapper } = await prepareRootless(gateway);
  const environment = { ...own, ...settings };
  const postern = new Postern(gateway, API_ADDRESS, environment, [...limit, ...wrapper]);
  return { topology, postern };
}

/** The process id of pasta, which holds the TCP port of a gateway on a host. */
export async function pidOfPasta(host: Host): Promise<number> {
  const { stdout } = await host.run('ss', '-Hltnp', 'sport = :13000');
  const pid = /pid=(\d+)/.exec(stdout)?.[1];
  if (pid === undefined) throw new Error(`pasta holds no port: ${stdout}`);
  return Number(pid);
}
