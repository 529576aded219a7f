// A device as people name it in a form: by its name, its address in the tunnel, or its id.

import { type Database, type DeviceRow, readDevices, searchIds } from '../../../models/index.ts';
import { inOrder } from '../../kit/records/in-order.ts';
import type { FieldError } from '../../kit/validation/messages.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { readAddress } from '../../kit/validation/network.ts';
import { ownerEmails, ownersOf, personInWords, type Suggestion } from './owners.ts';

/** More devices of one name than that are not listed in a message. */
const NAMESAKES_MAX = 5;
/** So many are offered at once. */
const OFFERED = 10;

/** Where scripts ask which devices a field may name. */
export const OFFERED_DEVICES = '/explain/devices';

/** What a person named. */
export interface Named {
  readonly isAddress: boolean;
  /** The id of the device; null: no device has that address. */
  readonly id: string | null;
  readonly error: FieldError | null;
}

/** The device of a name, an address or an id. */
export async function namedDevice(database: Database, word: string): Promise<Named> {
  const address = readAddress(word);
  const where =
    address !== null
      ? address.family === 4
        ? { ipv4: address.text }
        : { ipv6: address.text }
      : isUuid(word)
        ? { id: word.toLowerCase() }
        : { name: word };
  const found = await database.models.Device.findAll({ where, limit: NAMESAKES_MAX + 1 });
  const isAddress = address !== null;
  const [device] = found;
  if (found.length > 1) {
    const some = found.slice(0, NAMESAKES_MAX);
    const owners = await ownerEmails(database, some);
    const addresses = some.map((one) => `${wordOf(one)} (${owners.get(one.user_id) ?? ''})`);
    const values = { addresses: addresses.join(', ') };
    return { isAddress, id: null, error: { code: 'severalDevices', values } };
  }
  const isUnknown = device === undefined && !isAddress;
  return {
    isAddress,
    id: device?.id ?? null,
    error: isUnknown ? { code: 'noDeviceCalled', values: { name: word } } : null,
  };
}

/** What a form shows of the device with an id, which a link names: what only one device has. */
export async function wordForDevice(database: Database, id: string): Promise<string> {
  const device = isUuid(id) ? await database.models.Device.findByPk(id.toLowerCase()) : null;
  return device === null ? id : wordOf(device);
}

/** The devices that a field offers for what was typed so far, with their owners. */
export async function offeredDevices(database: Database, typed: string): Promise<Suggestion[]> {
  const wish = { text: typed.trim(), byName: true, order: 'name', offset: 0, limit: OFFERED };
  const ids = await searchIds(database, 'devices', wish);
  const devices = inOrder(ids, await readDevices(database, { ids }));
  const owners = await ownersOf(database, devices);
  return devices.map((device) => {
    const [value, owner] = [wordOf(device), owners.get(device.user_id)];
    const person = owner === undefined ? [] : [personInWords(owner)];
    return { value, label: [device.name, ...person, value].join(' · ') };
  });
}

/** What only one device has. */
function wordOf({ id, ipv4, ipv6 }: Pick<DeviceRow, 'id' | 'ipv4' | 'ipv6'>): string {
  return ipv4 ?? ipv6 ?? id;
}

/** The addresses that a device has. */
export function addressesOf({ ipv4, ipv6 }: Pick<DeviceRow, 'ipv4' | 'ipv6'>): string[] {
  return [ipv4, ipv6].filter((address) => address !== null);
}
