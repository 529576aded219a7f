// Takes the peers of a server's wg-quick file over as devices of one user. Their keys and addresses
// stay, so that clients notice nothing once the gateway has the server's key, port and networks:
// what to set for that is said, and so is what cannot be taken over.

import type { Config } from '../../config/index.ts';
import { derivePublicKey } from '../../dataplane/index.ts';
import {
  type Database,
  parseAddress,
  parseRange,
  type Role,
  type Transaction,
} from '../../models/index.ts';
import { isFaultless, judgeOf } from '../judge/judge.ts';
import { userSchema } from '../users/users.ts';
import { isKey } from '../judge/keys.ts';
import { type DeviceImport, importDevices, type WantedDevice } from './devices.ts';
import { faultLines, type FieldPlaces, type Imported, runImport } from './run.ts';
import { parseWgQuick, type Section, type Setting } from './wg-quick-file.ts';

/** In WireGuard, as if there were none. */
const NO_PRESHARED_KEY = Buffer.alloc(32).toString('base64');
const NAME_CHARACTERS_MAX = 255;

/** Settings of an interface that the environment gives to the gateway. */
const GIVEN = new Set(['privatekey', 'address', 'listenport', 'mtu']);
/** Settings of a peer that its device has. */
const TAKEN = new Set(['publickey', 'presharedkey', 'allowedips']);

/** Settings that a peer has once: a second one belongs to a peer whose header is missing. */
const ONCE = new Set(['publickey', 'presharedkey']);

const families = [
  { field: 'ipv4', version: 4, name: 'IPV4', bits: 32 },
  { field: 'ipv6', version: 6, name: 'IPV6', bits: 128 },
] as const;

/** Whose the devices will be. */
export interface Owner {
  readonly id: string;
  /** Of a user whom the import makes; null where the user is there. */
  readonly newEmail: string | null;
}

/** Imports a file for a user. */
export async function importWgQuick(
  services: DeviceImport,
  text: string,
  { owner, isTrial }: { readonly owner: Owner; readonly isTrial: boolean },
): Promise<Imported> {
  const { config, database } = services;
  const { sections, faults } = parseWgQuick(text);
  const servers = sections.filter(({ kind }) => kind === 'interface');
  const peers = sections.filter(({ kind }) => kind === 'peer');
  const notes = servers.flatMap((server) => adviceOf(config, services.serverPublicKey, server));
  const structure = [...faults];
  if (servers.length !== 1)
    structure.push(`the file has ${servers.length} [Interface] sections; a server's has one`);
  const names = new Set<string>();
  const read = peers.map((peer) => deviceOf(config, peer, { owner, names }));
  return runImport(database, isTrial, async (transaction) => {
    const wanted = read.map(({ device }) => device);
    const ofOwner = await makeOwner(database, owner, transaction);
    const judged = await importDevices(services, wanted, transaction);
    return {
      faults: [...structure, ...ofOwner, ...read.flatMap((one) => one.faults), ...judged],
      notes: [...notes, ...read.flatMap((one) => one.notes)],
      counts: { ...(owner.newEmail === null ? {} : { 'users made': 1 }), devices: peers.length },
    };
  });
}

/** Makes the user where it is a new one, by the rules of the API; returns the faults. */
async function makeOwner(
  database: Database,
  { id, newEmail }: Owner,
  transaction: Transaction,
): Promise<string[]> {
  if (newEmail === null) return [];
  const { values, faults } = judgeOf<{ email: string; role: Role }>(userSchema)(
    { email: newEmail },
    'create',
  );
  if (!isFaultless(faults)) return faultLines('--email', { base: faults['email'] ?? [] });
  await database.models.User.create({ id, ...values }, { transaction });
  return [];
}

interface ReadPeer {
  readonly device: WantedDevice;
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

function deviceOf(
  config: Config,
  peer: Section,
  { owner, names }: { owner: Owner; names: Set<string> },
): ReadPeer {
  const place = `line ${peer.line}: [Peer]`;
  const value = (key: string): string | undefined =>
    peer.settings.find((setting) => setting.key === key)?.value;
  const { addresses, routes, faults, notes } = addressesOf(config, peer, place);
  const left = peer.settings.filter(({ key }) => !TAKEN.has(key));
  const twice = peer.settings.filter(
    ({ key }, index) =>
      ONCE.has(key) && index !== peer.settings.findIndex((one) => one.key === key),
  );
  return {
    device: {
      place,
      places: placesOf(place),
      fields: {
        user_id: owner.id,
        ...(peer.title === null ? {} : { name: freeName(peer.title, names) }),
        public_key: value('publickey'),
        preshared_key: value('presharedkey') ?? NO_PRESHARED_KEY,
        ...addresses,
        ...(routes.length === 0 ? {} : { routes }),
      },
      columns: {},
    },
    faults: [...faults, ...twice.map(secondOf)],
    notes: [...notes, ...left.map((setting) => notTaken(setting))],
  };
}

/** The fields of a device, as the section has them. */
function placesOf(place: string): FieldPlaces {
  const addresses = `${place} AllowedIPs`;
  return {
    name: `${place} name`,
    public_key: `${place} PublicKey`,
    preshared_key: `${place} PresharedKey`,
    ipv4: addresses,
    ipv6: addresses,
    routes: addresses,
  };
}

/**
 * The first address of each family that a device may have, and the networks behind it; all else is
 * said.
 */
function addressesOf(config: Config, peer: Section, place: string) {
  const addresses: Partial<Record<'ipv4' | 'ipv6', string>> = {};
  const routes: string[] = [];
  const faults: string[] = [];
  const notes: string[] = [];
  const listed = peer.settings
    .filter(({ key }) => key === 'allowedips')
    .flatMap(({ value, line }) => value.split(',').map((text) => ({ text: text.trim(), line })))
    .filter(({ text }) => text !== '');
  for (const { text, line } of listed) {
    const [address = '', prefix] = text.split('/');
    const family = families.find(({ version }) => parseAddress(address)?.family === version);
    const isSingle = prefix === undefined || prefix === String(family?.bits);
    const range = parseRange(text);
    if (family === undefined || range === null)
      faults.push(`line ${line}: AllowedIPs holds ${text}, which is no network`);
    else if (isSingle && isInside(config, address, family)) {
      if (addresses[family.field] === undefined) addresses[family.field] = address;
      else
        notes.push(
          `line ${line}: AllowedIPs ${text} is not taken over; a device has one address of each ` +
            'network of the gateway',
        );
    } else if (prefix === '0')
      notes.push(
        `line ${line}: AllowedIPs ${text} is not taken over; not everything can be behind a device`,
      );
    else routes.push(`${textOfKey(range.start, family.version)}/${prefix ?? family.bits}`);
  }
  if (Object.keys(addresses).length === 0)
    faults.push(
      `${place} has no address inside ${families
        .map(({ name }) => networkOf(config, name))
        .filter((network) => network !== null)
        .join(' or ')}; set the networks as said below, then import again`,
    );
  return { addresses, routes, faults, notes };
}

function isInside(config: Config, address: string, { name, version }: (typeof families)[number]) {
  const network = parseRange(networkOf(config, name) ?? '');
  const key = parseAddress(address)?.key;
  if (network === null || key === undefined || network.family !== version) return false;
  return key >= network.start && key <= network.end;
}

function networkOf(config: Config, name: 'IPV4' | 'IPV6'): string | null {
  if (name === 'IPV4') return config.wireguardIpv4Enabled ? config.wireguardIpv4Network : null;
  return config.wireguardIpv6Enabled ? config.wireguardIpv6Network : null;
}

/** A name that no device before has: `phone`, `phone (2)`. */
function freeName(title: string, names: Set<string>): string {
  const short = Array.from(title)
    .slice(0, NAME_CHARACTERS_MAX - 8)
    .join('');
  let name = short;
  for (let i = 2; names.has(name); i += 1) name = `${short} (${i})`;
  names.add(name);
  return name;
}

// ---- what a person reads -----------------------------------------------------------------------

/** What to set so that the clients find the server that they know; never a secret itself. */
function adviceOf(config: Config, serverPublicKey: string, server: Section): string[] {
  const notes: string[] = [];
  for (const setting of server.settings) {
    const { key, value, line } = setting;
    if (key === 'privatekey') {
      const publicKey = publicKeyOf(value);
      if (publicKey === null) notes.push(`line ${line}: PrivateKey is no key`);
      else if (publicKey !== serverPublicKey)
        notes.push(
          `set WIREGUARD_PRIVATE_KEY to the PrivateKey of line ${line} (or WIREGUARD_PRIVATE_KEY_FILE): the clients know the server as ${publicKey}`,
        );
    } else if (key === 'listenport' && value !== String(config.wireguardPort))
      notes.push(`set WIREGUARD_PORT=${value}`);
    else if (key === 'mtu' && value !== String(config.wireguardMtu))
      notes.push(`set WIREGUARD_MTU=${value}`);
    else if (key === 'address')
      notes.push(...value.split(',').flatMap((text) => networkAdvice(config, text.trim())));
    else if (!GIVEN.has(key)) notes.push(notTaken(setting));
  }
  return notes;
}

function networkAdvice(config: Config, text: string): string[] {
  const [address = '', prefix] = text.split('/');
  const parsed = parseAddress(address);
  const range = parseRange(text);
  const family = families.find(({ version }) => version === parsed?.family);
  if (parsed === null || range === null || family === undefined)
    return [`Address ${text} is no address`];
  if (prefix === undefined || prefix === String(family.bits)) return [];
  const base = textOfKey(range.start, family.version);
  const wanted = { network: `${base}/${prefix}`, address: parsed.text };
  const [network, own] =
    family.name === 'IPV4'
      ? [config.wireguardIpv4Network, config.wireguardIpv4Address]
      : [config.wireguardIpv6Network, config.wireguardIpv6Address];
  return [
    ...(network === wanted.network
      ? []
      : [`set WIREGUARD_${family.name}_NETWORK=${wanted.network}`]),
    ...(own === wanted.address ? [] : [`set WIREGUARD_${family.name}_ADDRESS=${wanted.address}`]),
  ];
}

function textOfKey(hex: string, version: 4 | 6): string {
  if (version === 4) return Buffer.from(hex, 'hex').join('.');
  const groups = hex.match(/.{4}/g) ?? [];
  return parseAddress(groups.join(':'))?.text ?? '';
}

function publicKeyOf(privateKey: string): string | null {
  if (!isKey(privateKey)) return null;
  const bytes = derivePublicKey(new Uint8Array(Buffer.from(privateKey, 'base64')));
  return Buffer.from(bytes).toString('base64');
}

const REASONS: Readonly<Record<string, string>> = {
  postup: 'the gateway forwards and masquerades by itself, and rules say who may go where',
  table: 'the gateway routes its own networks only',
  dns: "it was the server's own; what clients get is default_client_dns of the configuration",
  endpoint: 'a client is answered where it was heard last',
  persistentkeepalive: 'it belongs into the file of the client',
  saveconfig: 'devices are kept in the database',
  fwmark: 'the gateway sets none',
};

function notTaken({ key, name, line }: Setting): string {
  const reason = REASONS[/^(pre|post)(up|down)$/.test(key) ? 'postup' : key];
  return `line ${line}: ${name} is not taken over${reason === undefined ? '' : `; ${reason}`}`;
}

function secondOf({ name, line }: Setting): string {
  return `line ${line}: ${name} is there a second time in this [Peer]; is a line [Peer] missing?`;
}
