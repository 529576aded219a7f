// Takes the peers of a server's wg-quick file over as devices of one user. Their keys and addresses
// stay, so that clients notice nothing once the gateway has the server's key, port and networks:
// the notes say what to set for that, and what cannot be taken over.

import { type Config, refusedRanges } from '../../../config/index.ts';
import {
  type AddressRange,
  type Database,
  parseRange,
  type Role,
  type Transaction,
} from '../../../models/index.ts';
import { looksTaken } from '../../auth/named-user.ts';
import { hasNoErrors, validatorOf } from '../../kit/validation/validate.ts';
import { messages } from '../../kit/validation/messages.ts';
import { userSchema } from '../../domain/users/users.ts';
import { type DeviceImport, importDevices, type WantedDevice } from './devices.ts';
import {
  errorLines,
  ERRORS_MAX,
  type FieldPlaces,
  type Imported,
  type ImportedDevice,
  runImport,
} from './run.ts';
import {
  addressText,
  keyAdvice,
  networkAdvice,
  type NetworkAdvice,
  networkOf,
  settingAdvice,
} from './server-advice.ts';
import { holds, isInAny, readNetwork } from './tunnel-networks.ts';
import { parseWgQuick, type Section, type Setting } from './wg-quick-file.ts';

/** In WireGuard, as if there were none. */
export const NO_PRESHARED_KEY = Buffer.alloc(32).toString('base64');
const NAME_CHARACTERS_MAX = 255;

/** Settings of an interface that the environment gives to the gateway. */
const GIVEN = new Set(['privatekey', 'address', 'listenport', 'mtu']);
/** Settings of a peer that its device has. */
const TAKEN = new Set(['publickey', 'presharedkey', 'allowedips']);

/** Settings that a peer has once: a second one belongs to a peer whose header is missing. */
const ONCE = new Set(['publickey', 'presharedkey']);

/** Whose the devices will be. */
export interface Owner {
  readonly id: string;
  /** The e-mail of a user whom the import makes; null if the user exists. */
  readonly newEmail: string | null;
}

/** Imports a file for a user. */
export async function importWgQuick(
  services: DeviceImport,
  text: string,
  { owner, isTrial }: { readonly owner: Owner; readonly isTrial: boolean },
): Promise<Imported> {
  const { config } = services;
  const { sections, disabled, errors } = parseWgQuick(text);
  const servers = sections.filter(({ kind }) => kind === 'interface');
  const structure = [...errors];
  if (servers.length !== 1)
    structure.push(`the file has ${servers.length} [Interface] sections; a server's has one`);
  const peers = sections.filter(({ kind }) => kind === 'peer').map(readPeer);
  const networks = networkAdvice(config, {
    addresses: servers.flatMap(addressesOfServer),
    peers: peers.map(({ allowed }) => singlesOf(allowed)),
  });
  const names = new Names();
  const read: ReadPeer[] = [];
  let count = structure.length;
  for (const peer of peers) {
    if (count > ERRORS_MAX) break;
    const device = deviceOf(config, peer, { owner, names, networks });
    count += device.errors.length;
    read.push(device);
  }
  const notes = [
    ...servers.flatMap((server) => adviceOf(config, services.serverPublicKey, server)),
    ...networks.notes,
    ...disabled.map(({ line, title }) => switchedOff(line, title)),
    ...read.flatMap((one) => one.notes),
  ];
  return importOwned(services, owner, isTrial, {
    errors: [...structure, ...read.flatMap((one) => one.errors)],
    notes,
    devices: read.map(({ device }) => device),
    count: peers.length,
  });
}

/** The result of reading a file. */
interface Owned {
  readonly errors: readonly string[];
  readonly notes: readonly string[];
  /** The devices that were read: not all where there were too many errors. */
  readonly devices: readonly WantedDevice[];
  /** How many devices there are in the file. */
  readonly count: number;
}

/** Imports the devices of a file for one user; it makes the user if they are new. */
export function importOwned(
  services: DeviceImport,
  owner: Owner,
  isTrial: boolean,
  { errors, notes, devices: wanted, count }: Owned,
): Promise<Imported> {
  return runImport(services.database, isTrial, async (transaction) => {
    const found = [...(await makeOwner(services.database, owner, transaction)), ...errors];
    const devices: ImportedDevice[] = [];
    const checked = await importDevices(
      services,
      found.length > ERRORS_MAX ? [] : wanted,
      transaction,
      (device) => devices.push(device),
    );
    return {
      errors: [...found, ...checked],
      notes: [...notes],
      counts: { ...(owner.newEmail === null ? {} : { 'users made': 1 }), devices: count },
      devices,
    };
  });
}

/** Makes the user where it is a new one, by the rules of the API; returns the errors. */
export async function makeOwner(
  database: Database,
  { id, newEmail }: Owner,
  transaction: Transaction,
): Promise<string[]> {
  if (newEmail === null) return [];
  const { values, errors } = validatorOf<{ email: string; role: Role }>(userSchema)(
    { email: newEmail },
    'create',
  );
  if (!hasNoErrors(errors)) return errorLines('--email', { base: errors['email'] ?? [] });
  if (await looksTaken(database, values.email, null, transaction))
    return errorLines('--email', { base: [messages.looksTaken] });
  await database.models.User.create({ id, ...values }, { transaction });
  return [];
}

/** One entry of AllowedIPs. */
interface Allowed {
  readonly text: string;
  readonly address: string;
  /** Null for what is no network. */
  readonly range: AddressRange | null;
  readonly prefix: number;
  readonly isSingle: boolean;
  readonly line: number;
}

/** A peer with its AllowedIPs taken apart. */
interface SplitPeer extends Section {
  readonly allowed: readonly Allowed[];
}

interface ReadPeer {
  readonly device: WantedDevice;
  readonly errors: readonly string[];
  readonly notes: readonly string[];
}

function readPeer(peer: Section): SplitPeer {
  const allowed = peer.settings
    .filter(({ key }) => key === 'allowedips')
    .flatMap(({ value, line }) => value.split(',').map((text) => ({ text: text.trim(), line })))
    .filter(({ text }) => text !== '')
    .map(({ text, line }) => allowedOf(text, line));
  return { ...peer, allowed };
}

function allowedOf(text: string, line: number): Allowed {
  const [address = '', bits] = text.split('/');
  const range = parseRange(text);
  const most = range?.family === 4 ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  return { text, address, range, prefix, isSingle: prefix === most, line };
}

/** The addresses of one host that a device could have. */
function singlesOf(allowed: readonly Allowed[]): string[] {
  return allowed
    .filter(({ range, isSingle, address }) => range !== null && isSingle && !isRefused(address))
    .map(({ address }) => address);
}

function deviceOf(
  config: Config,
  peer: SplitPeer,
  context: { owner: Owner; names: Names; networks: NetworkAdvice },
): ReadPeer {
  const { owner, names } = context;
  const place = `line ${peer.line}: [Peer]`;
  const value = (key: string): string | undefined =>
    peer.settings.find((setting) => setting.key === key)?.value;
  const { addresses, routes, errors, notes } = addressesOf(config, peer, place, context.networks);
  const left = peer.settings.filter(({ key }) => !TAKEN.has(key));
  const seen = new Set<string>();
  const twice = peer.settings.filter(({ key }) => {
    const isSecond = ONCE.has(key) && seen.has(key);
    seen.add(key);
    return isSecond;
  });
  return {
    device: {
      place,
      places: placesOf(place),
      fields: {
        user_id: owner.id,
        ...(peer.title === null ? {} : { name: names.free(peer.title) }),
        public_key: value('publickey'),
        preshared_key: value('presharedkey') ?? NO_PRESHARED_KEY,
        ...addresses,
        ...(routes.length === 0 ? {} : { routes }),
      },
      columns: {},
    },
    errors: [...errors, ...twice.map(secondOf)],
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
function addressesOf(config: Config, { allowed }: SplitPeer, place: string, advice: NetworkAdvice) {
  const addresses: Partial<Record<'ipv4' | 'ipv6', string>> = {};
  const routes: string[] = [];
  const errors: string[] = [];
  const notes: string[] = [];
  for (const { text, address, range, prefix, isSingle, line } of allowed) {
    const note = (why: string): void =>
      void notes.push(`line ${line}: AllowedIPs ${text} is not taken over; ${why}`);
    if (range === null) {
      errors.push(`line ${line}: AllowedIPs holds ${text}, which is no network`);
      continue;
    }
    const field = range.family === 4 ? 'ipv4' : 'ipv6';
    if (isSingle && holds(networkOf(config, range.family), address)) {
      if (addresses[field] === undefined) addresses[field] = address;
      else note('a device has one address of each network of the gateway');
    } else if (prefix === 0) note('not everything can be behind a device');
    else if (isRefused(address)) note('such addresses are dropped inside a tunnel');
    else routes.push(`${addressText(range.start)}/${prefix}`);
  }
  if (Object.keys(addresses).length === 0)
    errors.push(withoutAddress(config, allowed, place, advice));
  return { addresses, routes, errors, notes };
}

/** What to do with a peer none of whose addresses is inside a network of the gateway. */
function withoutAddress(
  config: Config,
  allowed: readonly Allowed[],
  place: string,
  { networks }: NetworkAdvice,
): string {
  const present = ([4, 6] as const)
    .map((version) => networkOf(config, version))
    .filter((network) => network !== null)
    .join(' or ');
  const singles = singlesOf(allowed);
  const isHelped = singles.some((address) => networks.some((network) => holds(network, address)));
  const remedy = isHelped
    ? 'set the networks as said below, then import again'
    : singles.length === 0
      ? 'give it one, such as 10.8.0.2/32, in AllowedIPs, or take this [Peer] out of the file'
      : 'no setting of the networks holds it beside the others; take this [Peer] out of the file, and make the device anew';
  return `${place} has no address inside ${present}; ${remedy}`;
}

const REFUSED = [...refusedRanges.IPV4, ...refusedRanges.IPV6].flatMap(
  ([range]) => readNetwork(range) ?? [],
);

/** Whether the data plane drops an address inside a tunnel. */
function isRefused(address: string): boolean {
  return isInAny(REFUSED, address);
}

/** Names that no device before has: `phone`, `phone (2)`. */
export class Names {
  readonly #taken = new Set<string>();
  /** By a name: the number to try next. */
  readonly #next = new Map<string, number>();

  free(title: string): string {
    const short = Array.from(title)
      .slice(0, NAME_CHARACTERS_MAX - 8)
      .join('');
    let name = short;
    let number = this.#next.get(short) ?? 2;
    for (; this.#taken.has(name); number += 1) name = `${short} (${number})`;
    this.#next.set(short, number);
    this.#taken.add(name);
    return name;
  }
}

// ---- what a person reads -----------------------------------------------------------------------

/** The addresses of the server itself. */
function addressesOfServer(server: Section): { text: string }[] {
  return server.settings
    .filter(({ key }) => key === 'address')
    .flatMap(({ value }) => value.split(','))
    .map((text) => ({ text: text.trim() }))
    .filter(({ text }) => text !== '');
}

/** What to set but the networks, so that the clients find the server that they know. */
function adviceOf(config: Config, serverPublicKey: string, server: Section): string[] {
  return server.settings.flatMap((setting) => {
    const { key, value, line } = setting;
    if (key === 'privatekey')
      return keyAdvice(value, serverPublicKey, `PrivateKey of line ${line}`);
    if (key === 'listenport')
      return settingAdvice(config, 'WIREGUARD_PORT', value, config.wireguardPort);
    if (key === 'mtu') return settingAdvice(config, 'WIREGUARD_MTU', value, config.wireguardMtu);
    return GIVEN.has(key) ? [] : [notTaken(setting)];
  });
}

function switchedOff(line: number, title: string | null): string {
  const name = title === null ? 'a [Peer]' : `the [Peer] "${title}"`;
  return `line ${line}: ${name} is switched off by number signs and is not taken over`;
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
