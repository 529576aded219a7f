// Rights of the process, and forwarding of the host. Forwarding is switched on if it is off, so
// that packets of devices go on to other networks. If rights are missing, a message says what to
// do, and the gateway runs without forwarding.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parseAddress } from '../wire/address.ts';

/** Where the kernel's settings of the network are. */
export const SYSCTL = '/proc/sys/net';

const FORWARDING6 = 'net.ipv6.conf.all.forwarding';

/** Switches IP forwarding on where it is off; returns what is wrong and how to fix it. */
export function enableForwarding(families: { ipv4: boolean; ipv6: boolean }): string[] {
  const errors: string[] = [];
  if (families.ipv4 && readSysctl('ipv4/ip_forward') !== '1') {
    const code = writeSysctl('ipv4/ip_forward', '1');
    if (code !== null)
      errors.push(
        `net.ipv4.ip_forward could not be set (${code}); devices reach only the gateway. Run: ${forwardingFix('ipv4')}`,
      );
  }
  if (families.ipv6 && existsSync(join(SYSCTL, 'ipv6'))) errors.push(...enableForwarding6());
  return errors;
}

/**
 * A host that forwards ignores router advertisements, unless it is configured otherwise, and would
 * lose the routes that it learnt from them. Where that cannot be configured, forwarding stays off.
 */
function enableForwarding6(): string[] {
  if (readSysctl('ipv6/conf/all/forwarding') === '1') return [];
  const fix = forwardingFix('ipv6');
  const refused: string[] = [];
  let code: string | null = null;
  for (const name of namesHearingRouters()) {
    const error = writeSysctl(`ipv6/conf/${name}/accept_ra`, '2');
    if (error === null) continue;
    refused.push(acceptRa(name));
    code = error;
  }
  if (code !== null)
    return [
      `${refused.join(', ')} could not be set (${code}), so ${FORWARDING6} stays off; devices reach only the gateway over IPv6. Run: ${fix}`,
    ];
  code = writeSysctl('ipv6/conf/all/forwarding', '1');
  return code === null
    ? []
    : [
        `${FORWARDING6} could not be set (${code}); devices reach only the gateway over IPv6. Run: ${fix}`,
      ];
}

/** The command that switches the forwarding of a family on, and keeps what routers announce. */
export function forwardingFix(family: 'ipv4' | 'ipv6'): string {
  const [name, kept] =
    family === 'ipv4'
      ? ['net.ipv4.ip_forward', []]
      : [FORWARDING6, namesHearingRouters().map((one) => `${acceptRa(one)}=2 `)];
  return `sysctl -w ${kept.join('')}${name}=1; for a container: --sysctl ${name}=1`;
}

/** The interfaces that accept router advertisements only as long as the host does not forward. */
export function namesHearingRouters(): string[] {
  return readdirSync(join(SYSCTL, 'ipv6/conf')).filter(
    (name) => name !== 'all' && name !== 'lo' && readSysctl(`ipv6/conf/${name}/accept_ra`) === '1',
  );
}

/** The name of a setting for sysctl, which takes a dot in the name of an interface for a slash. */
export function acceptRa(interfaceName: string): string {
  return `net.ipv6.conf.${interfaceName.replaceAll('.', '/')}.accept_ra`;
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

/** Writes a value; returns the code of the error, null where there is none. */
function writeSysctl(file: string, value: string): string | null {
  try {
    writeFileSync(join(SYSCTL, file), value);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown error';
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
