// What a destination of a rule means if people seldom want that meaning: 192.168.50.20/24 is a
// whole network, and ::ffff:192.168.50.20 is nothing that a packet is sent to.

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

/** A sentence about what a destination means, for the person who typed it; null: what it says. */
export function meaningOf(destination: string): string | null {
  const ipv4 = mappedIn(destination);
  if (ipv4 !== null)
    return `No packet is for ${destination}: IPv4 addresses are never written as IPv6 in packets. Give ${ipv4}.`;
  const network = meantNetwork(destination);
  if (network === null) return null;
  const prefix = destination.slice(destination.indexOf('/'));
  return `${destination} means ${network}; leave ${prefix} out for one host.`;
}

/** The IPv4 address or network that is written as IPv6 (RFC 4291, 2.5.5.2); null: none is. */
function mappedIn(destination: string): string | null {
  const [text = '', prefix = '128'] = destination.split('/');
  if (!ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  const bits = Number(prefix) - 96;
  if (!address.isIPv4MappedAddress() || bits < 0) return null;
  return `${address.toIPv4Address().toString()}${bits === 32 ? '' : `/${bits}`}`;
}
