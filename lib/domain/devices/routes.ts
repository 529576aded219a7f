// Networks behind devices: which networks a device can have behind it. Each belongs to one device,
// and none may hold what the gateway itself needs to reach, or the tunnel would carry the packets
// that carry it. docs/api.md#networks-behind-a-device.

import { lookup } from 'node:dns/promises';
import { getServers } from 'node:dns';
import { networkInterfaces } from 'node:os';
import { databaseHost, flowCollectorOf, hostOf, refusedRanges } from '../../../config/index.ts';
import {
  type AddressRange,
  type Database,
  parseRange,
  readEndpoints,
  readRoutedDevices,
  type RoutedDevice,
  type Transaction,
} from '../../../models/index.ts';
import { inTime } from '../../kit/http/in-time.ts';
import { addError, type Errors } from '../../kit/validation/validate.ts';
import {
  type FieldError,
  routeHolds,
  routeIsAll,
  routeMeets,
} from '../../kit/validation/messages.ts';
import type { EffectiveConfiguration } from '../../kit/records/effective-configuration.ts';
import type { Shared } from '../../kit/process/shared.ts';

/** Networks that are never behind a device. */
const RESERVED = namedRanges([
  ...[...refusedRanges.IPV4, ...refusedRanges.IPV6].map(([range]) => range),
  '240.0.0.0/4',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
]);
/** Where clouds give a host its identity and credentials; dataplane/wire/ranges.ts has the list. */
const CLOUD_METADATA = [
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
];
/** A device that made no handshake for this time has no session, so nothing is sent to it. */
const SESSION_MS = 180_000;
const LOOKUP_MS = 1_000;

/** What checking networks needs. */
export interface RouteContext {
  readonly services: Pick<Shared, 'config' | 'database'>;
  readonly transaction: Transaction;
}

/** A network, as people know it. */
interface Named extends AddressRange {
  readonly name: string;
}

/** A network that none behind a device may meet, and whose it is. */
interface Other extends Named {
  readonly what: string;
}

/**
 * What networks behind a device may not meet. It is read when it is first needed, and once for all
 * devices that are made together.
 */
export class RouteNeighbours {
  readonly #context: RouteContext;
  readonly #id: string | null;
  #theirs: Promise<Other[]> | undefined;
  #needed: Promise<Other[]> | undefined;
  #own: Other[] | undefined;

  /** `id`: the device whose networks change; null for new ones. */
  constructor(context: RouteContext, id: string | null) {
    this.#context = context;
    this.#id = id;
  }

  /** The networks behind other devices. */
  theirs(): Promise<Other[]> {
    this.#theirs ??= otherRoutes(this.#context, this.#id).then((devices) =>
      devices.flatMap(networksOf),
    );
    return this.#theirs;
  }

  /** Knows a device that was made meanwhile. */
  async add(device: Pick<RoutedDevice, 'name' | 'routes'>): Promise<void> {
    (await this.theirs()).push(...networksOf(device));
  }

  own(): readonly Other[] {
    this.#own ??= ownNetworks(this.#context);
    return this.#own;
  }

  needed(): Promise<readonly Other[]> {
    this.#needed ??= neededHosts(this.#context);
    return this.#needed;
  }
}

function networksOf({ name, routes }: Pick<RoutedDevice, 'name' | 'routes'>): Other[] {
  return othersOf(routes, `which is behind the device ${name}`);
}

/** Adds to `errors` what is wrong with networks. */
export async function validateRoutes(
  routes: readonly string[],
  neighbours: RouteNeighbours,
  errors: Errors,
): Promise<void> {
  const ranges = namedRanges(routes);
  const theirs = await neighbours.theirs();
  const error = (found: FieldError): void => addError(errors, 'routes', found);
  for (const [i, range] of ranges.entries()) {
    if (range.name.endsWith('/0')) {
      error(routeIsAll(range.name));
      continue;
    }
    const reserved = RESERVED.find((other) => doMeet(range, other));
    if (reserved !== undefined) error(routeMeets(range.name, reserved.name, 'which is reserved'));
    const twin = ranges.slice(0, i).find((other) => doMeet(range, other));
    if (twin !== undefined) error(routeMeets(range.name, twin.name, 'which is in the list too'));
    for (const other of theirs)
      if (doMeet(range, other)) error(routeMeets(range.name, other.name, other.what));
  }
  if (errors['routes'] !== undefined) return;
  const own = neighbours.own();
  const needed = await neighbours.needed();
  for (const range of ranges) {
    const met = own.find((other) => doMeet(range, other));
    if (met !== undefined) {
      error(routeMeets(range.name, met.name, met.what));
      continue;
    }
    for (const other of needed)
      if (doMeet(range, other)) error(routeHolds(range.name, other.name, other.what));
  }
}

/** The devices that have networks, but one. */
async function otherRoutes(
  { services, transaction }: RouteContext,
  id: string | null,
): Promise<RoutedDevice[]> {
  const all = await readRoutedDevices(services.database, transaction);
  return all.filter((device) => device.id !== id);
}

/** The device with a network behind it that holds an address; undefined: there is none. */
export function deviceBefore(
  devices: readonly RoutedDevice[],
  address: string,
): RoutedDevice | undefined {
  const [asked] = namedRanges([address]);
  if (asked === undefined) return undefined;
  return devices.find(({ routes }) => namedRanges(routes).some((route) => doMeet(route, asked)));
}

function namedRanges(texts: readonly string[]): Named[] {
  return texts.flatMap((name) => {
    const range = parseRange(name);
    return range === null ? [] : [{ ...range, name }];
  });
}

function othersOf(texts: readonly string[], what: string): Other[] {
  return namedRanges(texts).map((range) => ({ ...range, what }));
}

function doMeet(a: AddressRange, b: AddressRange): boolean {
  return a.family === b.family && a.start <= b.end && b.start <= a.end;
}

/** The networks of the tunnel and of the interfaces of this host. */
function ownNetworks({ services: { config } }: RouteContext): Other[] {
  const tunnel = [
    ...(config.wireguardIpv4Enabled ? [config.wireguardIpv4Network] : []),
    ...(config.wireguardIpv6Enabled ? [config.wireguardIpv6Network] : []),
  ];
  const interfaces = Object.entries(networkInterfaces()).filter(
    ([name]) => name !== config.wireguardInterface,
  );
  return [
    ...othersOf(tunnel, 'the network of the tunnel'),
    ...interfaces.flatMap(([name, addresses = []]) =>
      othersOf(
        addresses.map(({ cidr }) => cidr).filter((cidr) => cidr !== null),
        `the network of the interface ${name} of this gateway`,
      ),
    ),
  ];
}

/** Addresses that the gateway needs to reach, each with what is there. */
async function neededHosts({
  services: { config, database },
  transaction,
}: RouteContext): Promise<Other[]> {
  const row = await database.models.Configuration.findOne({ transaction });
  const { openid_connect_providers: oidc = [], saml_identity_providers: saml = [] } = row ?? {};
  const urls = [
    ...oidc.map(({ id, discovery_document_uri }) => ({ id, url: discovery_document_uri })),
    ...saml.flatMap((provider) =>
      'metadata_url' in provider ? [{ id: provider.id, url: String(provider.metadata_url) }] : [],
    ),
  ];
  const hosts = [
    { host: databaseHost(config), what: 'the database' },
    { host: config.smtpUrl === null ? null : hostOf(config.smtpUrl), what: 'the mail server' },
    { host: flowCollectorOf(config.flowLog)?.host ?? null, what: 'the collector of the flow log' },
    ...urls
      .filter(({ url }) => URL.canParse(url))
      .map(({ id, url }) => ({ host: hostOf(url), what: `the identity provider ${id}` })),
  ];
  const found = await Promise.all(
    hosts.map(async ({ host, what }) =>
      othersOf(host === null ? [] : await addressesOf(host), what),
    ),
  );
  const endpoints = await readEndpoints(database, SESSION_MS, new Date(), transaction);
  return [
    ...othersOf(getServers().map(withoutPort), 'a DNS server'),
    ...othersOf(CLOUD_METADATA, 'the credentials of its cloud'),
    ...found.flat(),
    ...endpoints.flatMap(({ address, device }) => othersOf([address], `the device ${device}`)),
  ];
}

/** `getServers` names a port where it is not 53. */
function withoutPort(server: string): string {
  return server.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
}

/** None where the name is not found in time: then it cannot be reached now either. */
async function addressesOf(host: string): Promise<string[]> {
  return inTime(lookup(host, { all: true }), LOOKUP_MS).then(
    (all) => all.map(({ address }) => address),
    () => [],
  );
}

/** The column that was sent; an empty list is kept as null. */
export function storedRoutes({ routes }: { readonly routes?: readonly string[] | null }): {
  routes?: string[] | null;
} {
  if (routes === undefined) return {};
  return { routes: routes === null || routes.length === 0 ? null : [...routes] };
}

/** The devices whose networks the files of other devices name. */
export async function includedRoutes(
  database: Database,
  {
    default_client_include_routes: isOn,
  }: Pick<EffectiveConfiguration, 'default_client_include_routes'>,
): Promise<RoutedDevice[]> {
  return isOn ? readRoutedDevices(database) : [];
}
