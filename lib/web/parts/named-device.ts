// A device as people name it in a form: by its name, its address in the tunnel, or its id.

import type { Database } from '../../../models/index.ts';
import type { FieldError } from '../../kit/validation/messages.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { readAddress } from '../../kit/validation/network.ts';

/** More devices of one name than that are not listed in a message. */
const NAMESAKES_MAX = 5;

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
    const addresses = found.slice(0, NAMESAKES_MAX).map(({ ipv4, ipv6 }) => ipv4 ?? ipv6);
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
  return device?.ipv4 ?? device?.ipv6 ?? id;
}
