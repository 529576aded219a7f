// What the host must do so that a LAN behind the gateway can answer: forward, and masquerade. One
// nft table, loaded and removed in one transaction each; IP forwarding switched on where it is off.
// Where rights or tools are missing it says what to do; the gateway runs all the same.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { formatAddress, parseAddress } from '../wire/address.ts';
import type { NetworkConfig } from '../contract.ts';
import { runNft } from './nft.ts';

/** Which networks leave with the gateway's address, and where. */
export interface Masquerade {
  readonly interfaceName: string;
  readonly networks: readonly NetworkConfig[];
  /** Only by this interface, null: by any but the TUN. */
  readonly egressInterface: string | null;
}

/** Loads the table; resolves to what is wrong and how to mend it, or null. */
export async function loadMasquerade(masquerade: Masquerade): Promise<string | null> {
  const fault = await nft(scriptOf(masquerade));
  if (fault === null) return null;
  return (
    `masquerading is off, so only networks that know a way back to the devices will answer: ${fault}. ` +
    'Install nftables and run as root or with CAP_NET_ADMIN, or set WIREGUARD_IPV4_MASQUERADE and WIREGUARD_IPV6_MASQUERADE to false'
  );
}

/** Whether the table could be loaded: resolves to a fault or null, and changes nothing. */
export async function tryMasquerade(masquerade: Masquerade): Promise<string | null> {
  const answer = await runNft(['--check', '-f', '-'], scriptOf(masquerade));
  return 'fault' in answer ? answer.fault : null;
}

function scriptOf(masquerade: Masquerade): string {
  const table = tableName(masquerade.interfaceName);
  const out =
    masquerade.egressInterface === null
      ? `oifname != "${masquerade.interfaceName}"`
      : `oifname "${masquerade.egressInterface}"`;
  const rules = masquerade.networks.map((network) => {
    const family = network.network.length === 4 ? 'ip' : 'ip6';
    return `    ${out} ${family} saddr ${formatAddress(network.network)}/${network.prefixBits} masquerade`;
  });
  return `add table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
${rules.join('\n')}
  }
}
`;
}

/** Removes the table; resolves to a fault or null. A table that is not there is no fault. */
export function removeMasquerade(interfaceName: string): Promise<string | null> {
  const table = tableName(interfaceName);
  return nft(`add table inet ${table}\ndelete table inet ${table}\n`);
}

/** nft's names are letters, digits and underscores; an interface's may hold more. */
function tableName(interfaceName: string): string {
  return `postern_${interfaceName.replaceAll(/[^A-Za-z0-9]/g, '_')}`;
}

/** Runs one transaction. */
async function nft(script: string): Promise<string | null> {
  const answer = await runNft(['-f', '-'], script);
  return 'fault' in answer ? answer.fault : null;
}

/** Where the kernel's settings of the network are. */
export const SYSCTL = '/proc/sys/net';

/** Switches IP forwarding on where it is off; returns what is wrong and how to mend it. */
export function enableForwarding(families: { ipv4: boolean; ipv6: boolean }): string[] {
  const faults: string[] = [];
  if (families.ipv4) faults.push(...enable('ipv4/ip_forward', 'net.ipv4.ip_forward'));
  if (families.ipv6 && existsSync(join(SYSCTL, 'ipv6'))) {
    const isOff = readSysctl('ipv6/conf/all/forwarding') === '0';
    // A forwarding host ignores router advertisements unless told otherwise, and would lose the
    // routes that it learnt from them: where that cannot be told, it does not forward.
    const kept = isOff ? keepRouterAdvertisements() : [];
    faults.push(...kept);
    if (kept.length === 0)
      faults.push(...enable('ipv6/conf/all/forwarding', 'net.ipv6.conf.all.forwarding'));
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

/** A value below /proc/sys/net, null where there is none. */
export function readSysctl(file: string): string | null {
  try {
    return readFileSync(join(SYSCTL, file), 'utf8').trim();
  } catch {
    return null;
  }
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
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => parseAddress(address))
    .filter((address) => address !== null);
}
