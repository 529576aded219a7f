// What the destination of a rule means if it is typed as the address of a host with a prefix:
// 192.168.50.20/24 is the whole network, which is seldom meant.

import ipaddr from 'ipaddr.js';

/** The network that a destination means; null if it is written as this network. */
export function meantNetwork(destination: string): string | null {
  if (!destination.includes('/')) return null;
  try {
    const [address, bits] = ipaddr.parseCIDR(destination);
    const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
    const network = family.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString();
    return network === address.toString() ? null : `${network}/${bits}`;
  } catch {
    return null;
  }
}

/** A sentence about the network that a destination means, for the person who typed it. */
export function meaningOf(destination: string): string | null {
  const network = meantNetwork(destination);
  if (network === null) return null;
  const prefix = destination.slice(destination.indexOf('/'));
  return `${destination} means ${network}; leave ${prefix} out for one host.`;
}
