// What the destination of a rule means where it is typed as an address with a prefix that is
// shorter: 192.168.50.20/24 is the whole network, which is seldom what somebody meant.

import ipaddr from 'ipaddr.js';

/** The network that a destination means; null where it says so itself. */
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

/** The same as a sentence for whoever typed it. */
export function meaningOf(destination: string): string | null {
  const network = meantNetwork(destination);
  if (network === null) return null;
  const prefix = destination.slice(destination.indexOf('/'));
  return `${destination} means ${network}; leave ${prefix} away for one host.`;
}
