// What the operating system allows, and its forwarding. It is switched on where it is off, so that
// packets of devices go on to other networks; where rights are missing it says what to do, and the
// gateway runs without.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parseAddress } from '../wire/address.ts';

/** Where the kernel's settings of the network are. */
export const SYSCTL = '/proc/sys/net';

const FORWARDING6 = 'net.ipv6.conf.all.forwarding';

/** Switches IP forwarding on where it is off; returns what is wrong and how to fix it. */
export function enableForwarding(families: { ipv4: boolean; ipv6: boolean }): string[] {
  const faults: string[] = [];
  if (families.ipv4) faults.push(...enable('ipv4/ip_forward', 'net.ipv4.ip_forward'));
  if (families.ipv6 && existsSync(join(SYSCTL, 'ipv6'))) {
    const isOff = readSysctl('ipv6/conf/all/forwarding') === '0';
    // A host that forwards ignores router advertisements, unless it is configured otherwise, and
    // would lose the routes that it learnt from them. Where that cannot be configured, forwarding
    // stays off.
    const kept = isOff ? keepRouterAdvertisements() : [];
    faults.push(...kept);
    faults.push(
      ...(kept.length === 0
        ? enable('ipv6/conf/all/forwarding', FORWARDING6)
        : [`${FORWARDING6} stays off until that is set. Run: sysctl -w ${FORWARDING6}=1`]),
    );
  }
  return faults;
}

function enable(file: string, name: string): string[] {
  if (readSysctl(file) === '1') return [];
  return writeSysctl(file, name, '1');
}

function keepRouterAdvertisements(): string[] {
  const folder = join(SYSCTL, 'ipv6/conf');
  return readdirSync(folder)
    .filter((name) => name !== 'all' && readSysctl(`ipv6/conf/${name}/accept_ra`) === '1')
    .flatMap((name) =>
      writeSysctl(`ipv6/conf/${name}/accept_ra`, `net.ipv6.conf.${name}.accept_ra`, '2'),
    );
}

/** A value in /proc/sys/net, null where there is none. */
export function readSysctl(file: string): string | null {
  try {
    return readFileSync(join(SYSCTL, file), 'utf8').trim();
  } catch {
    return null;
  }
}

/** How many files this process may have open; null where it is not known. */
export function readFilesMax(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const max = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return max === undefined ? null : Number(max);
  } catch {
    return null;
  }
}

/** How many files this process has open; 0 where it is not known. */
export function readFilesOpen(): number {
  try {
    // The folder that is read is one of them.
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return 0;
  }
}

/**
 * Lets the host take IPv4 packets from an interface that have an address of the host as source, as
 * the gateway's answers to the host and the LAN do. Returns whether it does: where settings of the
 * kernel cannot be written, as in a container, it may not.
 */
export function acceptOwnSource(interfaceName: string): boolean {
  const file = `ipv4/conf/${interfaceName}/accept_local`;
  try {
    if (readSysctl(file) !== '1') writeFileSync(join(SYSCTL, file), '1');
  } catch {
    // What is in force is read below.
  }
  return readSysctl(file) === '1' || readSysctl('ipv4/conf/all/accept_local') === '1';
}

function writeSysctl(file: string, name: string, value: string): string[] {
  try {
    writeFileSync(join(SYSCTL, file), value);
    return [];
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return [
      `${name} could not be set (${code}); devices reach only the gateway. Run: sysctl -w ${name}=${value}`,
    ];
  }
}

/** The addresses of this host, 4 or 16 bytes each. */
export function readLocalAddresses(): Uint8Array[] {
  return addressesIn(Object.values(networkInterfaces()));
}

/** The addresses of an interface; none where it is down, or has none. */
export function readAddressesOf(interfaceName: string): Uint8Array[] {
  return addressesIn([networkInterfaces()[interfaceName]]);
}

function addressesIn(interfaces: readonly (NetworkInterfaceInfo[] | undefined)[]): Uint8Array[] {
  return interfaces
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => parseAddress(address))
    .filter((address) => address !== null);
}
