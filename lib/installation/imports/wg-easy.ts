// Takes the clients of wg-easy over as devices of one user: keys, addresses, switches and ends.
// Clients notice nothing once the gateway has the server's key, port and networks; the notes say
// what to set for that, as for a wg-quick file.

import { parseAddress, parseRange } from '../../../models/index.ts';
import type { DeviceImport, WantedDevice } from './devices.ts';
import { timeOf } from './firezone-dump.ts';
import { ERRORS_MAX, type Imported } from './run.ts';
import {
  addressText,
  keyAdvice,
  networkAdvice,
  networkOf,
  type NetworkAdvice,
  settingAdvice,
} from './server-advice.ts';
import { holds } from './tunnel-networks.ts';
import type { WgEasy, WgEasyClient } from './wg-easy-file.ts';
import { importOwned, Names, NO_PRESHARED_KEY, type Owner } from './wg-quick.ts';

/** Imports what wg-easy kept for a user. */
export async function importWgEasy(
  services: DeviceImport,
  kept: WgEasy,
  { owner, isTrial }: { readonly owner: Owner; readonly isTrial: boolean },
): Promise<Imported> {
  const { config, serverPublicKey } = services;
  const networks = networkAdvice(config, {
    addresses: kept.addresses.map((text) => ({ text: serverAddress(text) })),
    peers: kept.clients.map(({ addresses }) => addresses),
  });
  const names = new Names();
  const errors = [...kept.errors];
  const said = new Said();
  const notes = [
    ...keyAdvice(kept.privateKey, serverPublicKey, kept.keyPlace),
    ...(kept.port === null
      ? []
      : settingAdvice(config, 'WIREGUARD_PORT', kept.port, config.wireguardPort)),
    ...(kept.mtu === null
      ? []
      : settingAdvice(config, 'WIREGUARD_MTU', kept.mtu, config.wireguardMtu)),
    ...networks.notes,
    ...kept.notes,
    'the private keys of the clients are not kept: who loses a file gets a new key pair',
  ];
  const wanted: WantedDevice[] = [];
  for (const client of kept.clients) {
    if (errors.length > ERRORS_MAX) break;
    wanted.push(deviceOf(services, client, { owner, names, networks, errors, said }));
  }
  notes.push(...said.lines());
  return importOwned(services, owner, isTrial, {
    errors,
    notes,
    devices: wanted,
    count: kept.clients.length,
  });
}

/** wg-easy 15 keeps its network, and has the first address in it. */
function serverAddress(text: string): string {
  const [address = '', prefix] = text.split('/');
  const range = parseRange(text);
  const parsed = parseAddress(address);
  if (range === null || parsed === null || parsed.key !== range.start) return text;
  const next = (BigInt(`0x${range.start}`) + 1n).toString(16);
  return `${addressText(next.padStart(range.start.length, '0'))}/${prefix}`;
}

interface Context {
  readonly owner: Owner;
  readonly names: Names;
  readonly networks: NetworkAdvice;
  readonly errors: string[];
  readonly said: Said;
}

/**
 * The notes about clients. A note that is equal for many is printed once, with the first of them.
 */
class Said {
  readonly #places = new Map<string, { readonly place: string; others: number }>();

  add(place: string, text: string): void {
    const present = this.#places.get(text);
    if (present === undefined) this.#places.set(text, { place, others: 0 });
    else present.others += 1;
  }

  lines(): string[] {
    return [...this.#places].map(([text, { place, others }]) => {
      const more =
        others === 0 ? '' : ` and ${others} other ${others === 1 ? 'client' : 'clients'}`;
      return `${place}${more}: ${text}`;
    });
  }
}

function deviceOf(
  { config }: DeviceImport,
  client: WgEasyClient,
  { owner, names, networks, errors, said }: Context,
): WantedDevice {
  const { place, name, presharedKey, expiresAt, insertedAt, allowedIps, own } = client;
  const fields: Record<string, unknown> = {
    user_id: owner.id,
    name: typeof name === 'string' && name.trim() !== '' ? names.free(name.trim()) : name,
    public_key: client.publicKey,
    preshared_key: presharedKey === '' ? NO_PRESHARED_KEY : (presharedKey ?? NO_PRESHARED_KEY),
    enabled: client.isEnabled,
  };
  for (const address of client.addresses) {
    const family = parseAddress(address)?.family;
    if (family === undefined) errors.push(`${place} has the address ${address}, which is none`);
    else if (holds(networkOf(config, family), address)) fields[`ipv${family}`] = address;
    else if (networkOf(config, family) === null)
      said.add(
        place,
        `the IPv${family} address is not taken over; WIREGUARD_IPV${family}_ENABLED is false`,
      );
    else {
      const isHelped = networks.networks.some((network) => holds(network, address));
      const remedy = isHelped
        ? 'set the networks as said below, then import again'
        : 'no setting of the networks holds it beside the others';
      const network = networkOf(config, family) ?? '';
      errors.push(`${place} has the address ${address}, which is not inside ${network}; ${remedy}`);
    }
  }
  if (client.addresses.length === 0) errors.push(`${place} has no address`);
  if (expiresAt !== null && expiresAt !== '') {
    // A day alone ends with it, as in wg-easy.
    const isDay = typeof expiresAt === 'string' && /^\d{4}-\d\d-\d\d$/.test(expiresAt);
    const end = timeOf(isDay ? `${expiresAt}T23:59:59Z` : expiresAt);
    if (end === null)
      errors.push(`${place} ends at ${JSON.stringify(expiresAt)}, which is no time`);
    else fields['ends_at'] = end.toISOString();
  }
  if (allowedIps !== null) setOwn(fields, 'allowed_ips', allowedIps);
  for (const [key, value] of Object.entries(own)) setOwn(fields, key, value);
  // The client's own addresses may be repeated there.
  const routes = client.serverAllowedIps.filter(
    (text) => !client.addresses.includes(String(text).replace(/\/(?:32|128)$/, '')),
  );
  const all = routes.filter((text) => /\/0+$/.test(String(text)));
  for (const text of all)
    said.add(place, `${String(text)} is not taken over; not everything can be behind a device`);
  if (routes.length > all.length)
    fields['routes'] = routes.filter((text) => !all.includes(text)).map(networkText);
  for (const text of client.left) said.add(place, text);
  return {
    place,
    fields,
    columns: insertedAt === null ? {} : { inserted_at: insertedAt },
  };
}

/** A setting of the device's own file. */
function setOwn(fields: Record<string, unknown>, name: string, value: unknown): void {
  fields[name] = value;
  fields[`use_default_${name}`] = false;
}

/** wg-easy takes an address of one host, and one inside its network, for a network. */
function networkText(value: unknown): unknown {
  const text = String(value).trim();
  const range = parseRange(text);
  if (range === null) return value;
  const bits = range.family === 4 ? 32 : 128;
  return `${addressText(range.start)}/${text.split('/')[1] ?? bits}`;
}
