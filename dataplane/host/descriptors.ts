// What the operating system gives the data plane: a TUN, UDP sockets, an eventfd. The main thread
// opens and keeps them, so that they stay open for the next worker when one dies. An error names
// what is missing and how to fix it.

import type { NetworkConfig } from '../contract.ts';
import { divideFiles, type FileLimits, readFiles, relayedWithin } from '../io/files.ts';
import { portsForEach } from '../io/host-sockets.ts';
import type { TableFill } from '../io/kernel-counts.ts';
import { acceptOwnSource } from '../io/system.ts';
import { mayTryAnotherPort } from '../io/udp.ts';
import { type Addon, loadAddon } from '../native/index.ts';
import type { SocketsWanted } from '../socket-contract.ts';
import { type WorkersWanted, workersOf } from '../worker-count.ts';

/** What a gateway is made from; it does not change while the gateway runs. */
export interface GatewayOptions extends WorkersWanted {
  /** 32 bytes. */
  readonly privateKey: Uint8Array;
  /**
   * Unix time in ms: the smallest timestamp of an initiation. Devices ignore timestamps that are
   * not greater than the last one, so they would ignore a gateway whose clock was set back.
   */
  readonly timestampFloorMs: number;
  /** UDP port; 0 takes a free one. */
  readonly listenPort: number;
  /**
   * Sockets on that port that are open already, for each worker one of IPv4, then one of IPv6 (-1:
   * the host has none); left out or empty: they are opened.
   */
  readonly udpSockets?: readonly number[];
  /** Whether TCP connections of devices are relayed, as without root; no where left out. */
  readonly relaysTcp?: boolean;
  /** Number of a process in the network of the host; null or left out: the gateway is there. */
  readonly hostProcess?: number | null;
  readonly interfaceName: string;
  readonly mtu: number;
  /** `sockets`: no TUN; what devices send beyond the tunnel leaves by sockets of this process. */
  readonly tun: 'auto' | 'required' | 'off' | 'sockets';
  /** Why `auto` takes no sockets where the host gives no TUN; null or left out: it takes them. */
  readonly socketsBarred?: string | null;
  /**
   * Private addresses of servers that the gateway itself needs (`HostAddresses.guarded`); asked
   * each second, and the same list until it changes.
   */
  readonly guarded?: () => readonly Uint8Array[];
  /** Null switches a family off. */
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly masqueradeIpv4: boolean;
  readonly masqueradeIpv6: boolean;
  readonly egressInterface: string | null;
  readonly forwarding: 'auto' | 'off';
  /** Whether `wg show` may ask for the state of the interface. */
  readonly uapi: 'auto' | 'off';
  /** Whether the first workers compile the packet path before they are ready; no where left out. */
  readonly warmsUp?: boolean;
  /** What happens to packets that no rule matches, until an amendment changes it. */
  readonly defaultAction: 'accept' | 'drop';
  /** Whether devices may reach the addresses at which clouds answer the gateway's host. */
  readonly allowsMetadata: boolean;
  /** Whether workers hand on what becomes of flows; no where left out. */
  readonly logsFlows?: boolean;
  /**
   * Calls back once a second until the function that it returns is called, together with whatever
   * else the process does once a second; left out: a timer of its own.
   */
  readonly eachBeat?: (call: () => void) => () => void;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** What one worker gets: descriptors by number, -1 where there is none. */
export interface Queue {
  readonly udp4: number;
  readonly udp6: number;
  /** The eventfd that wakes the worker. */
  readonly wake: number;
  /** The worker's queue of the TUN. */
  readonly tun: number;
  /** Queues of interfaces that have vanished, which a worker may still read. */
  readonly formerTuns?: readonly number[];
}

/** How packets of devices leave for networks beyond the tunnel. */
export type EgressWay = 'tun' | 'sockets' | 'none';

/** What the operating system gave. */
export interface Descriptors {
  readonly addon: Addon | null;
  readonly engine: 'native' | 'typescript';
  /** One for each worker. */
  readonly queues: readonly Queue[];
  /** Keeps others from the port that several workers share; -1 where one worker has it. */
  readonly lock: number;
  readonly way: EgressWay;
  /** Why there is no TUN, or no way at all, where a TUN was tried; left out: there is one. */
  readonly wayReason?: string;
  readonly tunTakesUdp: boolean;
  /** Whether the host takes IPv4 packets from the TUN that have its own address; left out: yes. */
  readonly tunTakesOwnSource?: boolean;
  readonly listenPort: number;
  /** How the descriptors of this process are divided. */
  readonly files: FileLimits;
}

/** What people and health checks see of a running gateway. */
export interface GatewayFacts extends Pick<Descriptors, 'files' | 'way' | 'wayReason'> {
  readonly engine: 'native' | 'typescript';
  readonly listenPort: number;
  /** How many workers carry packets. */
  readonly workers: number;
  /** Name of the TUN, null without one. */
  readonly tun: string | null;
  /** Which address the TUN has lost, and why the kernel refuses it; null: none. */
  readonly tunError: string | null;
  readonly masquerade: boolean;
  /** TCP connections that are relayed now; left out: none ever are. */
  readonly relayed?: number;
  /** The kernel's table of connections, which masquerading needs; null where there is none. */
  readonly connections: TableFill | null;
  /**
   * False while a worker does not answer, while it is started again, or while the TUN is missing.
   */
  readonly alive: boolean;
}

/** The queues of the TUN, and what the kernel takes from it. */
type Tun = { readonly tuns: readonly number[] } & Pick<
  Descriptors,
  'way' | 'wayReason' | 'tunTakesUdp' | 'tunTakesOwnSource'
>;

/**
 * Opens everything. Throws an error that names the fix when something necessary cannot be opened.
 * Where the kernel cannot divide the work among several workers, there is one, and the log says so.
 */
export function openDescriptors(options: GatewayOptions): Descriptors {
  const files = readFiles();
  const relayed = options.relaysTcp === true ? relayedWithin(files.max) : 0;
  const system = openSystem(options);
  const [leaves, workers] = [system.way === 'sockets', system.queues.length];
  return { ...system, files: divideFiles({ ...files, relayed, leaves, workers }) };
}

type System = Omit<Descriptors, 'files'>;

function openSystem(options: GatewayOptions): System {
  const needsAddon = options.engine !== 'typescript' || usesTun(options);
  const loaded = needsAddon ? loadAddon() : null;
  const addon = loaded?.addon ?? null;
  if (options.engine === 'native' && addon === null)
    throw new Error(
      'DATAPLANE_ENGINE=native, but the addon was not built; run: npm run build:native',
    );
  if (options.engine === 'auto' && addon === null)
    options.log(
      'warn',
      'the native engine was not built, so the slow TypeScript engine runs; build it with: npm run build:native',
    );
  // The twin opens its own sockets, in the worker.
  if (addon === null || options.engine === 'typescript') {
    if (options.workers !== 'auto' && options.workers > 1)
      options.log('info', 'the TypeScript engine has one worker; DATAPLANE_WORKERS has no effect');
    const { tuns, ...taken } = openTun(options, addon, false, 1);
    const queue = { udp4: -1, udp6: -1, wake: -1, tun: tuns[0]! };
    const { listenPort } = options;
    return { addon, engine: 'typescript', queues: [queue], lock: -1, ...taken, listenPort };
  }
  const workers = workersOf(options);
  if (workers > 1) {
    try {
      return openFor(options, addon, workers);
    } catch (error) {
      if (!(error instanceof UndividedError)) throw error;
      options.log('warn', `there is one worker instead of ${workers}: ${error.message}`);
    }
  }
  return openFor(options, addon, 1);
}

/**
 * Opens the `udpSockets` of a gateway that this process starts by becoming another program
 * (execve(2)). None where the TypeScript engine runs, which opens its own.
 */
export function openUdpSockets(
  options: Pick<GatewayOptions, 'engine' | 'listenPort' | 'workers'>,
): number[] {
  const { addon } = loadAddon();
  if (addon === null || options.engine === 'typescript') return [];
  const { listenPort: port } = options;
  const workers = workersOf(options);
  const isShared = workers > 1;
  const fds = Array.from({ length: workers }, () => [
    addon.openUdp(false, port, isShared),
    openUdp6(addon, port, isShared),
  ]).flat();
  for (const fd of fds) if (fd >= 0) addon.keepOnExec(fd);
  return fds;
}

/**
 * Gives the signals that Node ignores their default again, for the program that this process
 * becomes (execve(2)). Until then a write to a closed connection ends this process.
 */
export function defaultSignals(): void {
  loadAddon().addon?.defaultSignals();
}

/** The kernel cannot divide the work among several workers; the message says why. */
class UndividedError extends Error {}

function openFor(options: GatewayOptions, addon: Addon, workers: number): System {
  const { tuns, ...taken } = openTun(options, addon, true, workers);
  try {
    const { sockets, lock, listenPort } = openSockets(options, addon, workers);
    const queues = sockets.map((ofWorker, i) => ({ ...ofWorker, tun: tuns[i]! }));
    return { addon, engine: 'native', queues, lock, ...taken, listenPort };
  } catch (error) {
    for (const fd of tuns) if (fd >= 0) addon.closeFd(fd);
    throw error;
  }
}

function usesTun({ tun }: Pick<GatewayOptions, 'tun'>): boolean {
  return tun === 'auto' || tun === 'required';
}

function openTun(
  options: GatewayOptions,
  addon: Addon | null,
  virtioHeader: boolean,
  workers: number,
): Tun {
  const none = {
    tuns: Array.from({ length: workers }, () => -1),
    tunTakesUdp: false,
    way: options.tun === 'sockets' ? ('sockets' as const) : ('none' as const),
  };
  if (!usesTun(options)) return none;
  try {
    return makeTun(options, addon, virtioHeader, workers);
  } catch (error) {
    if (error instanceof UndividedError) throw error;
    const message = messageOf(error);
    if (options.tun === 'required')
      throw new Error(`WIREGUARD_TUN=required, but ${message}`, { cause: error });
    const { socketsBarred = null } = options;
    if (isRefused(error) && socketsBarred === null) {
      options.log('info', `${message}. Packets of devices leave by sockets of the gateway`);
      return { ...none, way: 'sockets', wayReason: message };
    }
    const barred = isRefused(error) && socketsBarred !== null ? `; ${socketsBarred}` : '';
    const wayReason = `${message}${barred}`;
    options.log(
      'warn',
      `${wayReason}. Devices reach each other and the gateway's address, but no network beyond`,
    );
    return { ...none, wayReason };
  }
}

/** What a host answers that gives no TUN to this process; a TUN that is in use is another error. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EACCES', 'EPERM']);

/** Whether the host refuses the TUN of `makeTun`. */
function isRefused(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return REFUSALS.has(cause?.code);
}

/** How packets of devices leave, and why. */
export function wayOf({ way, wayReason }: Descriptors): Pick<Descriptors, 'way' | 'wayReason'> {
  return wayReason === undefined ? { way } : { way, wayReason };
}

/** Makes the interface again after it vanished. Throws an error that names the fix. */
export function reopenTun(options: GatewayOptions, system: Descriptors): Descriptors {
  const { addon, engine, queues } = system;
  const { tuns, ...taken } = makeTun(options, addon, engine === 'native', queues.length);
  return {
    ...system,
    ...taken,
    queues: queues.map((queue, i) => ({
      ...queue,
      tun: tuns[i]!,
      formerTuns: [...(queue.formerTuns ?? []), queue.tun],
    })),
  };
}

/** Makes the interface with its addresses. Throws an error that names the fix. */
function makeTun(
  options: GatewayOptions,
  addon: Addon | null,
  virtioHeader: boolean,
  workers: number,
): Tun {
  const { interfaceName } = options;
  const tuns: number[] = [];
  try {
    if (addon === null)
      throw Object.assign(new Error('the addon was not built'), { code: 'NOT_BUILT' });
    let tunTakesUdp = false;
    for (let i = 0; i < workers; i++) {
      const opened = addon.openTun(interfaceName, virtioHeader, workers > 1);
      tuns.push(opened.fd);
      tunTakesUdp = opened.takesUdp;
    }
    addon.setLink(interfaceName, options.mtu);
    addAddresses(options, addon);
    return { tuns, way: 'tun', tunTakesUdp, tunTakesOwnSource: acceptOwnSource(interfaceName) };
  } catch (error) {
    for (const fd of tuns) addon?.closeFd(fd);
    // A kernel without queues, or an interface that was made without them.
    if (workers > 1 && (error as { code?: string }).code === 'EINVAL')
      throw new UndividedError(
        `the interface ${interfaceName} cannot have several queues (${messageOf(error)})`,
        { cause: error },
      );
    throw new Error(`no TUN interface ${interfaceName}: ${tunFix(error)}`, { cause: error });
  }
}

function addAddresses(options: GatewayOptions, addon: Addon): void {
  const { interfaceName, ipv4, ipv6 } = options;
  if (ipv4 !== null) addon.addAddress(interfaceName, ipv4.address, ipv4.prefixBits);
  if (ipv6 === null) return;
  try {
    addon.addAddress(interfaceName, ipv6.address, ipv6.prefixBits);
  } catch (error) {
    // The rest of the gateway works without it: IPv6 may be switched off on a host.
    options.log(
      'warn',
      `${interfaceName} has no IPv6 address (${messageOf(error)}). Switch IPv6 on (sysctl -w net.ipv6.conf.all.disable_ipv6=0) or set WIREGUARD_IPV6_ENABLED=false`,
    );
  }
}

function tunFix(error: unknown): string {
  const code = (error as { code?: string }).code;
  switch (code ?? '') {
    case 'NOT_BUILT':
      return 'the addon was not built; install a C++ compiler and run: npm run build:native';
    case 'EPERM':
      return 'no right to make one; run as root or with CAP_NET_ADMIN';
    case 'EACCES':
      return '/dev/net/tun may not be opened by this user; run: chmod 0666 /dev/net/tun';
    case 'ENOENT':
    case 'ENODEV':
      return '/dev/net/tun is missing; run: modprobe tun (in a container: --device /dev/net/tun)';
    case 'EBUSY':
      return 'another process uses that name; stop it or set WIREGUARD_INTERFACE';
    default:
      return messageOf(error);
  }
}

interface Sockets {
  readonly sockets: readonly Omit<Queue, 'tun'>[];
  readonly lock: number;
  readonly listenPort: number;
}

function openSockets(
  { listenPort, udpSockets = [] }: GatewayOptions,
  addon: Addon,
  workers: number,
): Sockets {
  if (udpSockets.length > 0) return takeSockets(addon, udpSockets, workers);
  for (let tries = 1; ; tries++) {
    try {
      return openAll(addon, listenPort, workers);
    } catch (error) {
      if (error instanceof UndividedError) throw error;
      if (mayTryAnotherPort(error, listenPort, tries)) continue;
      if (workers > 1 && !isPortError(error))
        throw new UndividedError(messageOf(error), { cause: error });
      throw portError(error, listenPort);
    }
  }
}

/** Takes sockets that are open already. It closes those that no worker reads. */
function takeSockets(addon: Addon, udpSockets: readonly number[], workers: number): Sockets {
  if (udpSockets.length < 2 * workers)
    throw new Error(`${udpSockets.length} UDP sockets are open for ${workers} workers`);
  for (const fd of udpSockets.slice(2 * workers)) if (fd >= 0) addon.closeFd(fd);
  const sockets = Array.from({ length: workers }, (_, i) => ({
    udp4: udpSockets[2 * i]!,
    udp6: udpSockets[2 * i + 1]!,
    wake: addon.openWake(),
  }));
  if (workers > 1) steer(addon, sockets);
  return { sockets, lock: -1, listenPort: addon.boundPort(sockets[0]!.udp4) };
}

function openAll(addon: Addon, port: number, workers: number): Sockets {
  const opened: number[] = [];
  const open = (fd: number): number => {
    if (fd >= 0) opened.push(fd);
    return fd;
  };
  try {
    const isShared = workers > 1;
    const first = open(addon.openUdp(false, port, isShared));
    const listenPort = addon.boundPort(first);
    // Another gateway could share the port and take a part of the datagrams.
    const lock = isShared ? open(addon.lockPort(listenPort)) : -1;
    const sockets = Array.from({ length: workers }, (_, i) => ({
      udp4: i === 0 ? first : open(addon.openUdp(false, listenPort, isShared)),
      udp6: open(openUdp6(addon, listenPort, isShared)),
      wake: open(addon.openWake()),
    }));
    if (isShared) steer(addon, sockets);
    return { sockets, lock, listenPort };
  } catch (error) {
    for (const fd of opened) addon.closeFd(fd);
    throw error;
  }
}

function steer(addon: Addon, sockets: Sockets['sockets']): void {
  const { udp4, udp6 } = sockets[0]!;
  for (const fd of [udp4, udp6]) if (fd >= 0) addon.steerUdp(fd, sockets.length);
}

/** A host without IPv6 gets one socket. */
function openUdp6(addon: Addon, port: number, isShared: boolean): number {
  try {
    return addon.openUdp(true, port, isShared);
  } catch (error) {
    if ((error as { code?: string }).code === 'EAFNOSUPPORT') return -1;
    throw error;
  }
}

/** Whether an error is about the port, and not about sharing it. */
function isPortError(error: unknown): boolean {
  return ['EADDRINUSE', 'EACCES', 'EPERM'].includes((error as { code?: string }).code ?? '');
}

/** The error for a port that cannot be opened. */
export function portError(error: unknown, port: number): Error {
  const text = messageOf(error);
  return /EADDRINUSE|in use/.test(`${(error as { code?: string }).code} ${text}`)
    ? new Error(
        `UDP port ${port} is taken; stop what uses it (ss -lunp) or set WIREGUARD_PORT to another`,
      )
    : new Error(`UDP port ${port} cannot be opened: ${text}`);
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * What sockets a worker may have; null: none. Where packets leave by a TUN or not at all, they are
 * for the gateway's own address alone, for which the TypeScript engine has none.
 */
export function socketsOf(
  { egressInterface }: Pick<GatewayOptions, 'egressInterface'>,
  { way, queues, engine, files }: Pick<Descriptors, 'way' | 'queues' | 'engine' | 'files'>,
): SocketsWanted | null {
  if (way !== 'sockets' && engine === 'typescript') return null;
  const capacity = files.sockets;
  if (way !== 'sockets') return { capacity, interfaceName: null, isForDoors: true };
  return { capacity, ports: portsForEach(queues.length), interfaceName: egressInterface };
}

/**
 * How many datagrams the sockets have lost because they had no room; null where their worker alone
 * has them.
 */
export function socketLosses({ addon, engine, queues }: Descriptors): number | null {
  if (addon === null || engine === 'typescript') return null;
  const all = queues.flatMap(({ udp4, udp6 }) => [udp4, udp6]).filter((fd) => fd >= 0);
  return all.reduce((sum, fd) => sum + addon.socketLosses(fd), 0);
}

/**
 * Closes the old queues of a worker that has ended. A worker that still runs would read from the
 * file that gets the number of a closed descriptor next.
 */
export function closeFormerTuns(system: Descriptors, worker: number): Descriptors {
  for (const tun of system.queues[worker]?.formerTuns ?? []) system.addon?.closeFd(tun);
  const queues = system.queues.map((queue, i) =>
    i === worker ? { ...queue, formerTuns: [] } : queue,
  );
  return { ...system, queues };
}

/** Closes what was opened. */
export function closeDescriptors({ addon, queues, lock }: Descriptors): void {
  const all = queues.flatMap((queue) => {
    const { udp4, udp6, tun, wake, formerTuns = [] } = queue;
    return [udp4, udp6, tun, wake, ...formerTuns];
  });
  for (const fd of [...all, lock]) if (fd >= 0) addon?.closeFd(fd);
}
