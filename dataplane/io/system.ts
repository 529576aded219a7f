// What the host must do so that a LAN behind the gateway can answer: forward, and masquerade. One
// nft table, loaded and removed in one transaction each; IP forwarding switched on where it is off.
// Where rights or tools are missing it says what to do; the gateway runs all the same.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { formatAddress, parseAddress } from '../wire/address.ts';
import type { NetworkConfig } from '../contract.ts';

/** Which networks leave with the gateway's address, and where. */
export interface Masquerade {
  readonly interfaceName: string;
  readonly networks: readonly NetworkConfig[];
  /** Only by this interface, null: by any but the TUN. */
  readonly egressInterface: string | null;
}

/** Loads the table; resolves to what is wrong and how to mend it, or null. */
export async function loadMasquerade(masquerade: Masquerade): Promise<string | null> {
  const table = tableName(masquerade.interfaceName);
  const out =
    masquerade.egressInterface === null
      ? `oifname != "${masquerade.interfaceName}"`
      : `oifname "${masquerade.egressInterface}"`;
  const rules = masquerade.networks.map((network) => {
    const family = network.network.length === 4 ? 'ip' : 'ip6';
    return `    ${out} ${family} saddr ${formatAddress(network.network)}/${network.prefixBits} masquerade`;
  });
  const fault = await nft(`add table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
${rules.join('\n')}
  }
}
`);
  if (fault === null) return null;
  return (
    `masquerading is off, so only networks that know a way back to the devices will answer: ${fault}. ` +
    'Install nftables and run as root or with CAP_NET_ADMIN, or set WIREGUARD_IPV4_MASQUERADE and WIREGUARD_IPV6_MASQUERADE to false'
  );
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
function nft(script: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('nft', ['-f', '-'], {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin' },
    });
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    child.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? 'the program nft is not installed' : error.message),
    );
    child.on('close', (status) =>
      resolve(
        status === 0 ? null : (complaint.trim().split('\n')[0] ?? `nft ended with ${status}`),
      ),
    );
    child.stdin.on('error', () => undefined);
    child.stdin.end(script);
  });
}

const SYSCTL = '/proc/sys/net';

/** Switches IP forwarding on where it is off; returns what is wrong and how to mend it. */
export function enableForwarding(families: { ipv4: boolean; ipv6: boolean }): string[] {
  const faults: string[] = [];
  if (families.ipv4) faults.push(...enable('ipv4/ip_forward', 'net.ipv4.ip_forward'));
  if (families.ipv6 && existsSync(join(SYSCTL, 'ipv6'))) {
    const isOff = readSysctl('ipv6/conf/all/forwarding') === '0';
    // A forwarding host ignores router advertisements unless told otherwise, and would lose the
    // routes that it learnt from them.
    if (isOff) faults.push(...keepRouterAdvertisements());
    if (faults.length === 0)
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

function readSysctl(file: string): string | null {
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
