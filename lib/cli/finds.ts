// Finds in the database what somebody named. A command with `--dry-run` asks the gateway to find
// it.

import {
  type Database,
  emailKey,
  findDevicesNamed,
  findIdsEnding,
  type Group,
  groupNameOf,
  readUsers,
  type UserRow,
} from '../../models/index.ts';
import { isUuid } from '../kit/validation/texts.ts';
import { noGroup, noUser } from '../kit/process/absent.ts';
import { findsBy, groupMeant, type Search, userMeant } from './naming.ts';
import type { Finds } from './row.ts';

/** The user whom somebody means. */
export async function findUser(database: Database, named: string): Promise<UserRow> {
  const user = await userMeant(searchIn(database), named);
  const [row] = user === null ? [] : await readUsers(database, { ids: [user.id] });
  if (row === undefined) throw noUser(named);
  return row;
}

/** The group that somebody means. */
export async function findGroup(database: Database, named: string): Promise<Group> {
  const group = await groupMeant(searchIn(database), named);
  const row = group === null ? null : await database.models.Group.findByPk(group.id);
  if (row === null) throw noGroup(named);
  return row;
}

/** Finds in a database. */
export function findsIn(database: Database): Finds {
  return findsBy(searchIn(database));
}

/** Searches a database. */
export function searchIn(database: Database): Search {
  const { Group, Rule } = database.models;
  return {
    devices: (naming) => findDevicesNamed(database, naming),
    idsEnding: (kind, end) => findIdsEnding(database, kind, end),
    hasRule: async (id) =>
      isUuid(id) && (await Rule.findByPk(id.toLowerCase(), { attributes: ['id'] })) !== null,
    async user(by) {
      const wish = 'id' in by ? { ids: [by.id] } : { emailKey: emailKey(by.email.trim()) };
      const [user] = await readUsers(database, wish);
      return user === undefined ? null : { id: user.id, name: user.email };
    },
    async group(by) {
      const where = 'id' in by ? by : { name: groupNameOf(by.name) };
      return Group.findOne({ where });
    },
  };
}
