// Inspects the networks of the host: one that overlaps with a network of the devices takes packets
// that are meant for devices, or loses its own to them.

import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { NetworkConfig } from '../contract.ts';
import { parseAddress } from '../wire/address.ts';
import { formatNetwork, isInNetwork, type NetworkRange } from '../wire/network.ts';
import { type Finding, good } from './finding.ts';

const CHECK = 'networks';

/** The networks of the devices, and the interface that has them. */
export interface Tunnel {
  readonly interfaceName: string;
  /** The TUN of the gateway that runs; null: none. */
  readonly runningTun: string | null;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
}

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** A finding for each address of another interface whose network overlaps. */
export function inspectNetworks(
  { interfaceName, runningTun, ipv4, ipv6 }: Tunnel,
  read: () => Interfaces = networkInterfaces,
): Finding[] {
  const own = [ipv4, ipv6].filter((network) => network !== null);
  let interfaces: Interfaces;
  try {
    interfaces = read();
  } catch {
    const message = 'the addresses of this host cannot be read';
    return [{ check: CHECK, level: 'warning', message, fix: 'look with: ip address' }];
  }
  const findings = Object.entries(interfaces)
    .filter(([name]) => name !== interfaceName && name !== runningTun)
    .flatMap(([name, infos = []]) =>
      infos.flatMap(({ cidr }) => {
        const range = rangeOf(cidr);
        const met = range === null ? undefined : own.find((network) => doOverlap(network, range));
        return met === undefined ? [] : [overlapping(name, cidr!, met)];
      }),
    );
  return findings.length > 0 ? findings : [good(CHECK, 'no network of this host overlaps')];
}

function overlapping(name: string, cidr: string, own: NetworkRange): Finding {
  const family = own.network.length === 4 ? 'IPV4' : 'IPV6';
  return {
    check: CHECK,
    level: 'warning',
    message: `${name} has ${cidr}, which overlaps with the network of the devices ${formatNetwork(own)}: addresses there lead to devices or to hosts, never to both`,
    fix: `set WIREGUARD_${family}_NETWORK and WIREGUARD_${family}_ADDRESS to a network that this host does not use, before there are devices`,
  };
}

function rangeOf(cidr: string | null): NetworkRange | null {
  const [text = '', bits] = (cidr ?? '').split('/');
  const network = parseAddress(text);
  return network === null ? null : { network, prefixBits: Number(bits) };
}

/** Whether two networks have addresses in common: then the first of one is in the other. */
function doOverlap(a: NetworkRange, b: NetworkRange): boolean {
  return isInNetwork(a.network, b) || isInNetwork(b.network, a);
}
