// What the operating system gives the data plane: a TUN, UDP sockets, an eventfd. The main thread
// opens and keeps them, so that they stay open for the next worker when one dies. An error names
// what is missing and how to fix it.

import type { NetworkConfig } from './contract.ts';
import { mayTryAnotherPort } from './io/udp.ts';
import { type Addon, loadAddon } from './native/index.ts';

/** What a gateway is made from; it does not change while the gateway runs. */
export interface GatewayOptions {
  /** 32 bytes. */
  readonly privateKey: Uint8Array;
  /**
   * Unix time in ms: the smallest timestamp of an initiation. Devices ignore timestamps that are
   * not greater than the last one, so they would ignore a gateway whose clock was set back.
   */
  readonly timestampFloorMs: number;
  /** UDP port; 0 takes a free one. */
  readonly listenPort: number;
  readonly interfaceName: string;
  readonly mtu: number;
  readonly tun: 'auto' | 'required' | 'off';
  /** Null switches a family off. */
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly masqueradeIpv4: boolean;
  readonly masqueradeIpv6: boolean;
  readonly egressInterface: string | null;
  readonly forwarding: 'auto' | 'off';
  /** Whether `wg show` may ask for the state of the interface. */
  readonly uapi: 'auto' | 'off';
  readonly engine: 'auto' | 'native' | 'typescript';
  readonly x25519: 'openssl' | 'tweetnacl';
  /** What happens to packets that no rule matches, until an amendment changes it. */
  readonly defaultAction: 'accept' | 'drop';
  /** Whether devices may reach the addresses at which clouds answer the gateway's host. */
  readonly allowsMetadata: boolean;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** Descriptors by number, -1 where there is none. */
export interface Descriptors {
  readonly addon: Addon | null;
  readonly engine: 'native' | 'typescript';
  readonly udp4: number;
  readonly udp6: number;
  readonly wake: number;
  readonly tun: number;
  readonly tunTakesUdp: boolean;
  readonly listenPort: number;
}

/**
 * Opens everything. Throws an error that names the fix when something necessary cannot be opened.
 */
export function openDescriptors(options: GatewayOptions): Descriptors {
  const loaded = options.engine === 'typescript' && options.tun === 'off' ? null : loadAddon();
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
  const engine = addon !== null && options.engine !== 'typescript' ? 'native' : 'typescript';
  const tun = openTun(options, addon, engine === 'native');
  const nothing = { udp4: -1, udp6: -1, wake: -1 };
  // The twin opens its own sockets, in the worker.
  if (engine === 'typescript' || addon === null)
    return { addon, engine, ...nothing, ...tun, listenPort: options.listenPort };
  try {
    return { addon, engine, ...openSockets(options, addon), ...tun };
  } catch (error) {
    if (tun.tun >= 0) addon.closeFd(tun.tun);
    throw error;
  }
}

function openTun(
  options: GatewayOptions,
  addon: Addon | null,
  virtioHeader: boolean,
): { tun: number; tunTakesUdp: boolean } {
  const none = { tun: -1, tunTakesUdp: false };
  if (options.tun === 'off') return none;
  try {
    return makeTun(options, addon, virtioHeader);
  } catch (error) {
    const complaint = messageOf(error);
    if (options.tun === 'required')
      throw new Error(`WIREGUARD_TUN=required, but ${complaint}`, { cause: error });
    options.log(
      'warn',
      `${complaint}. Devices reach each other and the gateway's address, but no network beyond`,
    );
    return none;
  }
}

/** Makes the interface again after it vanished. Throws an error that names the fix. */
export function reopenTun(options: GatewayOptions, system: Descriptors): Descriptors {
  const { addon, engine, tun: former } = system;
  const made = makeTun(options, addon, engine === 'native');
  if (former >= 0) addon?.closeFd(former);
  return { ...system, ...made };
}

/** Makes the interface with its addresses. Throws an error that names the fix. */
function makeTun(
  options: GatewayOptions,
  addon: Addon | null,
  virtioHeader: boolean,
): { tun: number; tunTakesUdp: boolean } {
  const { interfaceName } = options;
  let fd = -1;
  try {
    if (addon === null)
      throw Object.assign(new Error('the addon was not built'), { code: 'NOT_BUILT' });
    const opened = addon.openTun(interfaceName, virtioHeader);
    fd = opened.fd;
    addon.setLink(interfaceName, options.mtu);
    addAddresses(options, addon);
    return { tun: fd, tunTakesUdp: opened.takesUdp };
  } catch (error) {
    if (fd >= 0) addon?.closeFd(fd);
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
  readonly udp4: number;
  readonly udp6: number;
  readonly wake: number;
  readonly listenPort: number;
}

function openSockets({ listenPort }: GatewayOptions, addon: Addon): Sockets {
  for (let tries = 1; ; tries++) {
    try {
      return openBoth(addon, listenPort);
    } catch (error) {
      if (!mayTryAnotherPort(error, listenPort, tries)) throw portFault(error, listenPort);
    }
  }
}

function openBoth(addon: Addon, port: number): Sockets {
  const opened: number[] = [];
  try {
    const udp4 = addon.openUdp(false, port);
    opened.push(udp4);
    const listenPort = addon.boundPort(udp4);
    const udp6 = openUdp6(addon, listenPort);
    if (udp6 >= 0) opened.push(udp6);
    return { udp4, udp6, wake: addon.openWake(), listenPort };
  } catch (error) {
    for (const fd of opened) addon.closeFd(fd);
    throw error;
  }
}

/** A host without IPv6 gets one socket. */
function openUdp6(addon: Addon, port: number): number {
  try {
    return addon.openUdp(true, port);
  } catch (error) {
    if ((error as { code?: string }).code === 'EAFNOSUPPORT') return -1;
    throw error;
  }
}

/** The error for a port that cannot be opened. */
export function portFault(error: unknown, port: number): Error {
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

/** Closes what was opened. */
export function closeDescriptors({ addon, udp4, udp6, tun, wake }: Descriptors): void {
  for (const fd of [udp4, udp6, tun, wake]) if (fd >= 0) addon?.closeFd(fd);
}
