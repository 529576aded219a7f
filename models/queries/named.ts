// Records by what people call them at a terminal, where an id is too long to type: devices by owner
// and name, and records of every kind by the end of their id. How an id begins says when it was
// made, so ids of one day begin alike.

import { Op, type WhereOptions } from 'sequelize';
import type { Database } from '../database/database.ts';
import { parseAddress } from '../tables/columns.ts';
import type { Device } from '../tables/device.ts';

/** What an id may end in, so that it is searched by its end. */
const END_OF_ID = /^[0-9a-f]+$/;

/** More rows than this tell nobody which one was meant. */
const FOUND_MAX = 100;

/** One way in which a device is named. */
export type DeviceNaming =
  | { readonly id: string }
  | { readonly address: string }
  | { readonly name: string; readonly ownerId?: string }
  | { readonly idEnd: string };

/** What tells a device from others of its name. */
export type NamedDevice = Pick<Device, 'id' | 'name' | 'user_id' | 'ipv4' | 'ipv6'>;

/** The devices that are named so, oldest first. */
export async function findDevicesNamed(
  { models }: Database,
  naming: DeviceNaming,
): Promise<NamedDevice[]> {
  const where = conditionFor(naming);
  if (where === null) return [];
  const found = await models.Device.findAll({
    attributes: ['id', 'name', 'user_id', 'ipv4', 'ipv6'],
    where,
    order: ['inserted_at', 'id'],
    limit: FOUND_MAX,
  });
  // Some collations take two names for one.
  return 'name' in naming ? found.filter(({ name }) => name === naming.name) : found;
}

function conditionFor(naming: DeviceNaming): WhereOptions<Device> | null {
  if ('id' in naming) return { id: naming.id };
  if ('idEnd' in naming) return endCondition(naming.idEnd);
  if ('name' in naming)
    return {
      name: naming.name,
      ...(naming.ownerId === undefined ? {} : { user_id: naming.ownerId }),
    };
  const address = parseAddress(naming.address);
  if (address === null) return null;
  return address.family === 4 ? { ipv4: address.text } : { ipv6: address.text };
}

/** Kinds of records that are searched by the end of an id. */
export type NamedByIdEnd = 'User' | 'Group' | 'Rule' | 'PolicyTest' | 'ApiToken';

/** The ids of a kind of records that end so, oldest first. */
export async function findIdsEnding(
  { models }: Database,
  kind: NamedByIdEnd,
  end: string,
): Promise<string[]> {
  const where = endCondition(end);
  if (where === null) return [];
  const found = await (models[kind] as typeof models.User).findAll({
    attributes: ['id'],
    where,
    order: ['id'],
    limit: FOUND_MAX,
  });
  return found.map(({ id }) => id);
}

function endCondition(end: string): { id: { [Op.like]: string } } | null {
  return END_OF_ID.test(end) ? { id: { [Op.like]: `%${end}` } } : null;
}
