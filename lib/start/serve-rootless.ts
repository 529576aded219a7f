// Starts a gateway without root: whether this account can start one, the UDP sockets of devices,
// which stay in the network of the host, and what pasta is given for all else. Then this process
// becomes `lib/start/rootless`, which makes the namespaces, so that signals and exit codes are
// those of one process.

import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { accessSync, constants, readFileSync } from 'node:fs';
import { createServer, isIP } from 'node:net';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import {
  type Config,
  flowCollectorOf,
  isLoopback,
  rootlessEnvironment,
} from '../../config/index.ts';
import { defaultSignals, openUdpSockets } from '../../dataplane/index.ts';

/** What the host says of itself; tests give other answers. */
export interface RootlessHost {
  readonly isRoot: boolean;
  /**
   * Whether a process of this user may make user, network and mount namespaces; null where there is
   * no program that makes them.
   */
  readonly makesNamespaces: () => boolean | null;
  /** Code of the error with which /dev/net/tun cannot be opened; null where it can. */
  readonly tunError: () => string | null;
  /** Code of the error with which a port cannot be bound; `address` null: on all addresses. */
  readonly bindError: (
    kind: 'tcp' | 'udp4' | 'udp6',
    port: number,
    address: string | null,
  ) => Promise<string | null>;
  /** What `pasta --version` prints; null where there is no pasta. */
  readonly pastaVersion: () => string | null;
  /** A number below /proc/sys; null where there is none. */
  readonly sysctl: (name: string) => number | null;
  /** Whether the host has a default route of this family. */
  readonly hasDefaultRoute: (family: 4 | 6) => boolean;
  /** The name servers of /etc/resolv.conf, as the gateway will see it. */
  readonly nameServers: () => readonly string[];
}

/**
 * The date of the pasta of Debian 12, which calls its version unknown. A device can make it hang
 * (lib/kit/process/pasta.ts). Not all later ones were tried.
 */
const HANGING_PASTA = 'git20230309';
/** Until then pasta needed a default route; later ones take an interface that has any route. */
const ROUTED_PASTA = 'git20240301';
/** The name servers behind the resolver of systemd. */
const BEHIND_SYSTEMD = '/run/systemd/resolve/resolv.conf';
/** The addresses of the host's loopback that pasta reaches. */
const LOOPBACK_ADDRESSES = new Set(['127.0.0.1', '::1']);
/** Where the kernel lists the routes of each family. */
const ROUTES = { 4: '/proc/net/route', 6: '/proc/net/ipv6_route' } as const;
/** The flags of a route there: it is up; it rejects packets. */
const IS_UP = 0x0001;
const IS_REJECTED = 0x0200;
/** The program that this process becomes. */
const LAUNCHER = fileURLToPath(new URL('./rootless', import.meta.url));

/** Opens the UDP sockets and becomes the gateway; rejects where that fails. */
export async function becomeRootless(config: Config): Promise<never> {
  const { dataplaneEngine: engine, dataplaneWorkers: workers, wireguardPort: listenPort } = config;
  const sockets = await openUdpSockets({ engine, workers, listenPort });
  // Node says that `execve` may change still.
  process.removeAllListeners('warning');
  const options = pastaOptions(config, sockets.length > 0, thisHost);
  await defaultSignals();
  process.execve?.('/bin/sh', ['sh', LAUNCHER, ...options], rootlessEnvironment(sockets));
  throw new Error('this Node cannot become another program');
}

/**
 * The arguments of pasta: the ports of the gateway, and those of what it asks on the loopback of
 * this host. `hasSockets`: the UDP sockets of devices are open already.
 */
export function pastaOptions(
  config: Config,
  hasSockets: boolean,
  host: Pick<RootlessHost, 'nameServers'>,
): string[] {
  const { httpHost, httpPort, wireguardPort } = config;
  const address = addressOf(httpHost);
  const names = host.nameServers().some((one) => LOOPBACK_ADDRESSES.has(one)) ? [53] : [];
  return [
    ['--tcp-ports', address === null ? `${httpPort}` : `${address}/${httpPort}`],
    ['--udp-ports', hasSockets ? 'none' : `${wireguardPort}`],
    // By default every port that is open on the host's loopback could be reached from inside.
    ['--tcp-ns', listed([...databasePorts(config), ...mailPorts(config), ...names])],
    ['--udp-ns', listed([...collectorPorts(config), ...names])],
  ].flat();
}

/**
 * The name servers in the text of /etc/resolv.conf; where that names the resolver of systemd, those
 * behind it, as `lib/start/rootless` shows them to the gateway. Null: there is no such file.
 */
export function nameServersIn(text: string | null, behind: string | null): string[] {
  const servers = [...(text ?? '').matchAll(/^nameserver[ \t]+(\S+)/gm)].map((found) => found[1]);
  const isSystemd = servers.some((one) => one?.startsWith('127.0.0.53') === true);
  if (isSystemd && behind !== null) return nameServersIn(behind, null);
  return servers.filter((one) => one !== undefined);
}

/** Whether the text of /proc/net/route (4) or /proc/net/ipv6_route (6) has a default route. */
export function isDefaultRouteIn(text: string | null, family: 4 | 6): boolean {
  return (text ?? '').split('\n').some((line) => {
    const words = line.trim().split(/\s+/);
    const [destination, length, flags] =
      family === 4 ? [words[1], words[7], words[3]] : [words[0], words[1], words[8]];
    const isOpen = (Number.parseInt(flags ?? '', 16) & (IS_UP | IS_REJECTED)) === IS_UP;
    return /^0+$/.test(`${destination}${length}`) && isOpen;
  });
}

function listed(ports: readonly number[]): string {
  return ports.length === 0 ? 'none' : [...new Set(ports)].join(',');
}

/** What does not prevent a start, but should be known, each with its fix. */
export function rootlessWarnings(
  host: Pick<RootlessHost, 'pastaVersion' | 'nameServers'> = thisHost,
): string[] {
  return [...pastaWarnings(host), ...nameWarnings(host)];
}

function pastaWarnings(host: Pick<RootlessHost, 'pastaVersion'>): string[] {
  const version = pastaUntil(HANGING_PASTA, host);
  if (version === null) return [];
  return [
    `this pasta (${version}) can hang when a device opens and resets many TCP connections, and then nothing goes through the gateway for some 15 seconds; where devices are not all yours, install a newer one (package passt)`,
  ];
}

/** The version of a pasta that is of this date or before; null: it is later, or there is none. */
function pastaUntil(
  date: string,
  { pastaVersion }: Pick<RootlessHost, 'pastaVersion'>,
): string | null {
  const [version = ''] = /unknown version|git\d{8}/.exec(pastaVersion() ?? '') ?? [];
  if (version === 'unknown version') return version;
  return version === '' || version > date ? null : version;
}

/**
 * Warns if no name server can be reached: pasta reaches only two loopback addresses of this host.
 */
function nameWarnings(host: Pick<RootlessHost, 'nameServers'>): string[] {
  const servers = host.nameServers();
  const isReached = servers.some((one) => !isLoopback(one) || LOOPBACK_ADDRESSES.has(one));
  if (servers.length === 0 || isReached) return [];
  return [
    `the gateway cannot ask the name server ${servers.join(', ')} of /etc/resolv.conf, so it finds no names (of identity providers, mail and database servers); name one there that listens at 127.0.0.1 or at an address of the network`,
  ];
}

/** Why no gateway can start here without root, each with its fix. */
export async function rootlessErrors(
  config: Config,
  host: RootlessHost = thisHost,
): Promise<string[]> {
  if (host.isRoot) return ['this account is root and needs no rootless start: run npm start'];
  const ports = [...addressErrors(config), ...portErrors(config, host)];
  const taken = ports.length > 0 ? [] : await takenPorts(config, host);
  return [
    ...wayErrors(config),
    ...programErrors(host),
    ...tunErrors(host),
    ...ports,
    ...taken,
    ...routeErrors(config, host),
  ];
}

function programErrors(host: RootlessHost): string[] {
  const errors: string[] = [];
  if (host.pastaVersion() === null)
    errors.push('pasta is not installed; install it (Debian, Ubuntu, Fedora: the package passt)');
  const makesNamespaces = host.makesNamespaces();
  if (makesNamespaces === null)
    errors.push('unshare is not installed; install it (the package util-linux)');
  else if (!makesNamespaces)
    errors.push(`this account may not make user namespaces; ${namespaceFix(host)}`);
  return errors;
}

function namespaceFix({ sysctl }: RootlessHost): string {
  if (sysctl('user/max_user_namespaces') === 0)
    return 'as root run: sysctl -w user.max_user_namespaces=10000';
  if (sysctl('kernel/unprivileged_userns_clone') === 0)
    return 'as root run: sysctl -w kernel.unprivileged_userns_clone=1';
  if (sysctl('kernel/apparmor_restrict_unprivileged_userns') === 1)
    return 'as root run: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0';
  return 'the host forbids it, as most containers do; run the gateway outside of the container, or give it NET_ADMIN and run npm start';
}

/** Sockets need no namespaces, and in those of pasta each packet would go through two programs. */
function wayErrors({ wireguardTun }: Config): string[] {
  if (wireguardTun !== 'sockets') return [];
  return [
    'WIREGUARD_TUN=sockets needs no pasta; run npm start with it, or leave WIREGUARD_TUN out here',
  ];
}

function tunErrors(host: RootlessHost): string[] {
  const code = host.tunError();
  if (code === null) return [];
  if (code === 'ENOENT') return ['/dev/net/tun is missing; as root run: modprobe tun'];
  return [`/dev/net/tun cannot be opened (${code}); as root run: chmod 0666 /dev/net/tun`];
}

/** pasta takes no name. */
function addressErrors({ httpHost }: Config): string[] {
  const address = addressOf(httpHost);
  if (address === null || isIP(address) !== 0) return [];
  return [
    `HTTP_HOST=${httpHost} is a name, which pasta does not take; set an address of this host`,
  ];
}

function portErrors({ httpPort, wireguardPort }: Config, { sysctl }: RootlessHost): string[] {
  const first = sysctl('net/ipv4/ip_unprivileged_port_start') ?? 1024;
  const errors: string[] = [];
  for (const [name, port] of Object.entries({ HTTP_PORT: httpPort, WIREGUARD_PORT: wireguardPort }))
    if (port === 0) errors.push(`${name}=0 takes any free port, which pasta cannot know; set one`);
    else if (port < first)
      errors.push(
        `${name}=${port} is for root; set one from ${first} on, or as root run: sysctl -w net.ipv4.ip_unprivileged_port_start=${port}`,
      );
  return errors;
}

/** An old pasta knows an address family by its default route, and opens no port of another. */
function routeErrors({ httpHost }: Config, host: RootlessHost): string[] {
  if (pastaUntil(ROUTED_PASTA, host) === null) return [];
  const { hasDefaultRoute } = host;
  const families = ([4, 6] as const).filter(hasDefaultRoute);
  if (families.length === 0)
    return [
      'this host has no default route, which this pasta needs; add one (ip route), or install a newer pasta (package passt)',
    ];
  const family = isIP(addressOf(httpHost) ?? '');
  const [routed] = families;
  if (family === 0 || families.some((one) => one === family)) return [];
  return [
    `HTTP_HOST=${httpHost} needs a default route of IPv${family}, which this host does not have; set an IPv${routed} address of this host, or 0.0.0.0 for all`,
  ];
}

/** pasta starts even if it gets a port of one address family alone, so each is tried before. */
async function takenPorts(config: Config, host: RootlessHost): Promise<string[]> {
  const { httpPort, wireguardPort } = config;
  const errors: string[] = [];
  const ofUdp = [
    await host.bindError('udp4', wireguardPort, null),
    await host.bindError('udp6', wireguardPort, null),
  ];
  if (ofUdp.includes('EADDRINUSE'))
    errors.push(
      `UDP port ${wireguardPort} is taken; stop what uses it (ss -lunp) or set WIREGUARD_PORT to another`,
    );
  const error = await host.bindError('tcp', httpPort, addressOf(config.httpHost));
  if (error === 'EADDRINUSE')
    errors.push(
      `TCP port ${httpPort} is taken; stop what uses it (ss -ltnp) or set HTTP_PORT to another`,
    );
  if (error === 'EADDRNOTAVAIL')
    errors.push(
      `HTTP_HOST=${config.httpHost} is no address of this host; set one that it has (ip address)`,
    );
  return errors;
}

/** The address of HTTP_HOST; null for all addresses. */
function addressOf(host: string): string | null {
  if (host === '0.0.0.0' || host === '::') return null;
  return host === 'localhost' ? '127.0.0.1' : host.replaceAll(/[[\]]/g, '');
}

/** The port of a database server that listens on the loopback of this host. */
function databasePorts({ databaseHost, databasePort, databaseUrl }: Config): number[] {
  if (databaseHost !== null) return isLoopback(databaseHost) ? [databasePort] : [];
  return portsOf(databaseUrl, 3306);
}

/** The port of a mail server there. */
function mailPorts({ smtpUrl }: Config): number[] {
  return portsOf(smtpUrl, smtpUrl?.startsWith('smtps:') === true ? 465 : 587);
}

/** The port of a collector of flows there. */
function collectorPorts({ flowLog }: Config): number[] {
  const collector = flowCollectorOf(flowLog);
  return collector !== null && isLoopback(collector.host) ? [collector.port] : [];
}

function portsOf(text: string | null, usual: number): number[] {
  const url = text === null ? null : URL.parse(text);
  if (url === null || !isLoopback(url.hostname)) return [];
  return [url.port === '' ? usual : Number(url.port)];
}

/** The version that the pasta of this host printed: a start asks for it twice. */
let pastaSaid: string | null = null;

const thisHost: RootlessHost = {
  isRoot: process.getuid?.() === 0,
  makesNamespaces: () => {
    const words = ['--user', '--map-root-user', '--net', '--mount', 'true'];
    const { error, status } = spawnSync('unshare', words);
    return error === undefined ? status === 0 : null;
  },
  tunError: () => {
    try {
      accessSync('/dev/net/tun', constants.R_OK | constants.W_OK);
      return null;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? 'unknown';
    }
  },
  bindError: (kind, port, address) =>
    new Promise((resolve) => {
      const at = { port, exclusive: true, ...(address === null ? {} : { address, host: address }) };
      const tried = kind === 'tcp' ? createServer() : createSocket(kind);
      tried.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'));
      tried.on('listening', () => tried.close(() => resolve(null)));
      if ('bind' in tried) tried.bind(at);
      else tried.listen(at);
    }),
  pastaVersion: () => {
    const run = () => spawnSync('pasta', ['--version'], { encoding: 'utf8' });
    // No text comes from a program that does not exist.
    pastaSaid ??= run().stdout ?? null;
    return pastaSaid;
  },
  sysctl: (name) => {
    try {
      return Number(readFileSync(`/proc/sys/${name}`, 'utf8'));
    } catch {
      return null;
    }
  },
  hasDefaultRoute: (family) => isDefaultRouteIn(read(ROUTES[family]), family),
  nameServers: () => nameServersIn(read('/etc/resolv.conf'), read(BEHIND_SYSTEMD)),
};

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
