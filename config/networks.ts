// What the networks inside the tunnel must be: with room for devices, free of addresses that no
// device could use, and with the gateway among their hosts.

import ipaddr from 'ipaddr.js';

/** Prefixes of a setting's name. */
export type NetworkFamily = 'IPV4' | 'IPV6';

/**
 * Ranges whose addresses the data plane drops inside a tunnel, by RFC 6890. dataplane/wire/ip.ts
 * has the same list as code, which this room may not import; test/config/networks.test.ts holds
 * the two against each other.
 */
export const refusedRanges: Readonly<Record<NetworkFamily, readonly [string, string][]>> = {
  IPV4: [
    ['0.0.0.0/8', 'this host'],
    ['127.0.0.0/8', 'loopback'],
    ['169.254.0.0/16', 'link-local'],
    ['224.0.0.0/4', 'multicast'],
    ['255.255.255.255/32', 'broadcast'],
  ],
  IPV6: [
    ['::/128', 'unspecified'],
    ['::1/128', 'loopback'],
    ['::/104', '0.0.0.0/8 inside IPv6'],
    ['::ffff:0:0/96', 'IPv4-mapped'],
    ['fe80::/10', 'link-local'],
    ['ff00::/8', 'multicast'],
  ],
};

const EXAMPLE = { IPV4: '100.64.0.0/10', IPV6: 'fd00::/106' } as const;

/** Errors of one family's network and of the gateway's address in it. */
export function networkErrors(family: NetworkFamily, network: string, address: string): string[] {
  const [base, prefixBits] = ipaddr.parseCIDR(network);
  const named = `WIREGUARD_${family}_NETWORK ${network}`;
  if (base.toByteArray().length * 8 - prefixBits < 2)
    return [`${named} has no room for devices; take a shorter prefix`];
  const refused = refusedRanges[family].find(([range]) => overlaps(network, range));
  if (refused !== undefined)
    return [
      `${named} overlaps ${refused[0]} (${refused[1]}), whose addresses are dropped inside a tunnel; take a private network, for example ${EXAMPLE[family]}`,
    ];
  const error = addressError(family, network, address);
  return error === null ? [] : [`WIREGUARD_${family}_ADDRESS ${address} ${error}`];
}

function addressError(family: NetworkFamily, network: string, address: string): string | null {
  const named = `WIREGUARD_${family}_NETWORK ${network}`;
  const own = ipaddr.parse(address);
  // Devices get neither of the two (docs/api.md#addresses-of-a-device), and hosts take them for the
  // whole network.
  const [first, last] = edgesOf(network);
  const example = `for example ${secondOf(first)}`;
  if (!own.match(ipaddr.parseCIDR(network)))
    return `is not inside ${named}; take one of it, ${example}`;
  const edge = isSame(own, first) ? 'first' : isSame(own, last) ? 'last' : null;
  if (edge === null) return null;
  return `is the ${edge} address of ${named}, which is reserved; take another, ${example}`;
}

/** The last byte of a first address is even: a network has more than one. */
function secondOf(first: ipaddr.IPv4 | ipaddr.IPv6): string {
  const bytes = first.toByteArray();
  return ipaddr.fromByteArray([...bytes.slice(0, -1), (bytes.at(-1) ?? 0) + 1]).toString();
}

/** Of two networks of one family with a common address, one holds the first of the other. */
export function overlaps(one: string, other: string): boolean {
  return (
    edgesOf(one)[0].match(ipaddr.parseCIDR(other)) || edgesOf(other)[0].match(ipaddr.parseCIDR(one))
  );
}

/** The first and the last address of a network. */
function edgesOf(network: string): [Address, Address] {
  const [base, prefixBits] = ipaddr.parseCIDR(network);
  const hostBits = (i: number): number => 0xff >> Math.min(8, Math.max(0, prefixBits - 8 * i));
  const bytes = base.toByteArray();
  return [
    ipaddr.fromByteArray(bytes.map((byte, i) => byte & ~hostBits(i))),
    ipaddr.fromByteArray(bytes.map((byte, i) => byte | hostBits(i))),
  ];
}

type Address = ReturnType<typeof ipaddr.parse>;

function isSame(one: Address, other: Address): boolean {
  return one.toString() === other.toString();
}
