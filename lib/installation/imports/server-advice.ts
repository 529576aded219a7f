// What to set so that clients find the server that they know: its key, its port, and networks that
// hold their addresses. Nothing is advised that the settings would refuse. A secret is never named.

import { type Config, errorsOfSettings } from '../../../config/index.ts';
import { derivePublicKey, formatAddress } from '../../../dataplane/index.ts';
import { type Family, parseAddress, parseRange } from '../../../models/index.ts';
import { isKey } from '../../kit/validation/keys.ts';
import { holds } from './tunnel-networks.ts';

/** An address of the server, as its file has it. */
export interface ServerAddress {
  /** With its prefix, if the file names one. */
  readonly text: string;
}

/** What a file says of its server. */
export interface OldServer {
  readonly addresses: readonly ServerAddress[];
  /** The addresses of each peer that belong to it alone. */
  readonly peers: readonly (readonly string[])[];
}

/** What to set of the networks. */
export interface NetworkAdvice {
  readonly notes: readonly string[];
  /** The networks as they are after the advice; null for a family that is off. */
  readonly networks: readonly (string | null)[];
}

const families = [
  { version: 4, name: 'IPV4', bits: 32, usual: 24 },
  { version: 6, name: 'IPV6', bits: 128, usual: 64 },
] as const;
type FamilyOf = (typeof families)[number];

/** A wider network is taken only inside one of these: others have public addresses. */
const PRIVATE = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

/** Addresses of a server that are looked at; a file may repeat them without end. */
const ADDRESSES_MAX = 16;

/** A network, with its edges as numbers. */
interface Network {
  readonly first: bigint;
  readonly prefix: number;
}

/** What would be set of one family. */
interface Candidate {
  readonly network: string;
  readonly address: string;
  readonly notes: readonly string[];
}

/** The networks of both families. */
export function networkAdvice(config: Config, server: OldServer): NetworkAdvice {
  const found = families.map((family) => adviceOfFamily(config, family, server));
  const unread = server.addresses
    .filter(({ text }) => parseAddress(text.split('/')[0] ?? '') === null)
    .map(({ text }) => `Address ${text} is no address`);
  return {
    notes: [...unread, ...found.flatMap(({ notes }) => notes)],
    networks: found.map(({ network }) => network),
  };
}

/** The key by which the clients know the server. */
export function keyAdvice(privateKey: string, serverPublicKey: string, place: string): string[] {
  if (!isKey(privateKey)) return [`${place} is no key`];
  const bytes = derivePublicKey(new Uint8Array(Buffer.from(privateKey, 'base64')));
  const publicKey = Buffer.from(bytes).toString('base64');
  if (publicKey === serverPublicKey) return [];
  return [
    `set WIREGUARD_PRIVATE_KEY to the ${place} (or WIREGUARD_PRIVATE_KEY_FILE): the clients know the server as ${publicKey}`,
  ];
}

/** A setting that takes the value of the file as it is. */
export function settingAdvice(
  config: Config,
  name: 'WIREGUARD_PORT' | 'WIREGUARD_MTU',
  value: string,
  present: number,
): string[] {
  if (value === String(present)) return [];
  const [error] = errorsOfSettings(config, { [name]: value });
  return [error === undefined ? `set ${name}=${value}` : `${name} stays ${present}: ${error}`];
}

/** The network of a family, as the settings have it; null where it is off. */
export function networkOf(config: Config, version: Family): string | null {
  if (version === 4) return config.wireguardIpv4Enabled ? config.wireguardIpv4Network : null;
  return config.wireguardIpv6Enabled ? config.wireguardIpv6Network : null;
}

function adviceOfFamily(
  config: Config,
  family: FamilyOf,
  server: OldServer,
): { notes: string[]; network: string | null } {
  const present = networkOf(config, family.version);
  const stays = { notes: [], network: present };
  const declared = server.addresses
    .filter(({ text }) => versionOf(text) === family.version)
    .slice(0, ADDRESSES_MAX);
  const peers = server.peers
    .map((addresses) => addresses.filter((address) => versionOf(address) === family.version))
    .filter((addresses) => addresses.length > 0);
  if (declared.length === 0 && peers.length === 0) return stays;
  const isMet = peers.every((addresses) => addresses.some((one) => holds(present, one)));
  if (declared.length === 0 && isMet) return stays;
  const candidates = candidatesOf(family, declared, peers, present);
  let refusal: string | null = null;
  for (const candidate of candidates) {
    const texts = textsOf(family, candidate);
    const [error] = errorsOfSettings(config, texts);
    if (error !== undefined) {
      refusal ??= error;
      continue;
    }
    const given = presentTexts(config, family);
    // A family that is off and that no peer uses may stay off.
    if (present === null && peers.length === 0) return stays;
    const notes = Object.entries(texts)
      .filter(([name, text]) => given[name] !== text)
      .map(([name, text]) => `set ${name}=${text}`);
    return { notes: [...notes, ...candidate.notes], network: candidate.network };
  }
  const what =
    declared.length === 0
      ? 'the addresses of the peers'
      : `Address ${declared.map(({ text }) => text).join(', ')}`;
  return {
    notes: [
      `no WIREGUARD_${family.name}_NETWORK fits ${what}, so no IPv${family.version} address is taken over${refusal === null ? '' : `: ${refusal}`}`,
    ],
    network: present,
  };
}

function textsOf({ name }: FamilyOf, { network, address }: Candidate): Record<string, string> {
  return {
    [`WIREGUARD_${name}_ENABLED`]: 'true',
    [`WIREGUARD_${name}_NETWORK`]: network,
    [`WIREGUARD_${name}_ADDRESS`]: address,
  };
}

function presentTexts(config: Config, { name }: FamilyOf): Record<string, string> {
  const [isOn, network, address] =
    name === 'IPV4'
      ? [config.wireguardIpv4Enabled, config.wireguardIpv4Network, config.wireguardIpv4Address]
      : [config.wireguardIpv6Enabled, config.wireguardIpv6Network, config.wireguardIpv6Address];
  return {
    [`WIREGUARD_${name}_ENABLED`]: String(isOn),
    [`WIREGUARD_${name}_NETWORK`]: network,
    [`WIREGUARD_${name}_ADDRESS`]: address,
  };
}

/** What could be set, the best first. */
function candidatesOf(
  family: FamilyOf,
  declared: readonly ServerAddress[],
  peers: readonly (readonly string[])[],
  present: string | null,
): Candidate[] {
  const taken = new Set(peers.flat().map(numberOf));
  const own = declared.map(({ text }) => numberOf(text.split('/')[0] ?? ''));
  const networks = declared.map(({ text }) => declaredNetwork(family, text));
  const isUsed = peers.some((one) => one.some((address) => holds(present, address)));
  if (networks.length === 0 && present !== null && isUsed)
    networks.push(declaredNetwork(family, present));
  const inside = (network: Network, number: bigint): boolean =>
    start(family, number, network.prefix) === network.first;
  const isIn = (network: Network, addresses: readonly string[]): boolean =>
    addresses.some((one) => inside(network, numberOf(one)));
  const made = (network: Network, notes: readonly string[]): Candidate => {
    const server = own.find((number) => inside(network, number));
    const address = addressIn(family, network, server, taken);
    const text = addressOfNumber(family, network.first);
    const isMoved = server !== undefined && address !== server;
    return {
      network: `${text}/${network.prefix}`,
      address: addressOfNumber(family, address),
      notes: [
        ...(isMoved
          ? [
              `${addressOfNumber(family, server)} cannot be the address of the gateway in ${text}/${network.prefix}; the clients do not need it, unless it is their DNS server`,
            ]
          : []),
        ...notes,
      ],
    };
  };
  // Without a prefix, or with that of one host: as wide as usual, or as the peers need it.
  const named = networks.filter((network) => network !== null);
  const bases = named.length > 0 ? named : networksAround(family, own, peers);
  const counts = bases.map((network) => peers.filter((one) => isIn(network, one)).length);
  const most = bases[counts.indexOf(Math.max(...counts))];
  if (most === undefined) return [];
  const others = (chosen: Network): string[] =>
    declared
      .filter(({ text }) => !inside(chosen, numberOf(text.split('/')[0] ?? '')))
      .map(
        ({ text }) =>
          `Address ${text} is not taken over; the gateway has one network of each family`,
      );
  const narrow = made(most, others(most));
  const outside = peers.filter((one) => !isIn(most, one));
  if (outside.length === 0)
    return [
      narrow,
      ...bases.filter((base) => base !== most).map((base) => made(base, others(base))),
    ];
  const wide = around(
    family,
    [most, ...bases.filter((_, i) => (counts[i] ?? 0) > 0)],
    outside.map(([first = '']) => numberOf(first)),
  );
  if (!isPrivate(family, wide)) return [narrow];
  const name = `${addressOfNumber(family, wide.first)}/${wide.prefix}`;
  return [
    made(wide, [
      `${name} holds the addresses of all peers; the gateway has one network of each family`,
    ]),
    narrow,
  ];
}

/** The network of an address with a prefix; null where the prefix is that of one host. */
function declaredNetwork(family: FamilyOf, text: string): Network | null {
  const [address = '', bits] = text.split('/');
  const range = parseRange(text);
  const prefix = Number(bits);
  if (bits === undefined || range === null || prefix >= family.bits - 1) return null;
  return { first: start(family, numberOf(address), prefix), prefix };
}

/** Networks of the usual width around the server's addresses, or around the peers. */
function networksAround(
  family: FamilyOf,
  own: readonly bigint[],
  peers: readonly (readonly string[])[],
): Network[] {
  const seeds = own.length > 0 ? own : peers.slice(0, 1).map(([first = '']) => numberOf(first));
  return seeds.map((number) => ({
    first: start(family, number, family.usual),
    prefix: family.usual,
  }));
}

/** The smallest network that holds others, and addresses. */
function around(
  family: FamilyOf,
  networks: readonly Network[],
  addresses: readonly bigint[],
): Network {
  const edges = [
    ...networks.flatMap(({ first, prefix }) => [first, last(family, first, prefix)]),
    ...addresses,
  ];
  const [low, high] = edges.reduce(
    ([least, most], one) => [one < least ? one : least, one > most ? one : most],
    [edges[0] ?? 0n, edges[0] ?? 0n],
  );
  const common = family.bits - (low ^ high).toString(2).length;
  const prefix = low === high ? family.bits : common;
  return { first: start(family, low, prefix), prefix };
}

function isPrivate(family: FamilyOf, { first, prefix }: Network): boolean {
  const [low, high] = [
    addressOfNumber(family, first),
    addressOfNumber(family, last(family, first, prefix)),
  ];
  return PRIVATE.some((range) => holds(range, low) && holds(range, high));
}

/** The server's own address where the settings take it, else the first that nobody has. */
function addressIn(
  family: FamilyOf,
  { first, prefix }: Network,
  own: bigint | undefined,
  taken: ReadonlySet<bigint>,
): bigint {
  const end = last(family, first, prefix);
  if (own !== undefined && own !== first && own !== end && !taken.has(own)) return own;
  let free = first + 1n;
  while (taken.has(free)) free += 1n;
  return free;
}

function versionOf(text: string): Family | undefined {
  return parseAddress(text.split('/')[0] ?? '')?.family;
}

function numberOf(address: string): bigint {
  return BigInt(`0x${parseAddress(address)?.key ?? '0'}`);
}

function start({ bits }: FamilyOf, number: bigint, prefix: number): bigint {
  const hostBits = BigInt(bits - prefix);
  return (number >> hostBits) << hostBits;
}

function last({ bits }: FamilyOf, first: bigint, prefix: number): bigint {
  return first + (1n << BigInt(bits - prefix)) - 1n;
}

function addressOfNumber({ bits }: FamilyOf, number: bigint): string {
  return addressText(number.toString(16).padStart(bits / 4, '0'));
}

/** The text of an address from its key, the hex of its bytes. */
export function addressText(key: string): string {
  return formatAddress(Buffer.from(key, 'hex'));
}
