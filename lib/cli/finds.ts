// Finds in the database what somebody named. A command with `--dry-run` asks the gateway to find
// it.

import {
  type Database,
  emailKey,
  type Group,
  groupNameOf,
  readUsers,
  type UserRow,
} from '../../models/index.ts';
import { isUuid } from '../kit/validation/texts.ts';
import { noDevice, noGroup, noRule, noUser } from '../kit/process/absent.ts';
import type { Finds } from './row.ts';

/** The user with an e-mail address. */
export async function findUser(database: Database, email: string): Promise<UserRow> {
  const [user] = await readUsers(database, { emailKey: emailKey(email.trim()) });
  if (user === undefined) throw noUser(email);
  return user;
}

/** The group of an id or a name. */
export async function findGroup({ models }: Database, named: string): Promise<Group> {
  const where = isUuid(named) ? { id: named.toLowerCase() } : { name: groupNameOf(named) };
  const group = await models.Group.findOne({ where });
  if (group === null) throw noGroup(named);
  return group;
}

/** Finds in a database. */
export function findsIn(database: Database): Finds {
  const { Device, Rule } = database.models;
  return {
    user: async (email) => {
      const user = await findUser(database, email);
      return { id: user.id, name: user.email };
    },
    group: (named) => findGroup(database, named),
    device: async (id) => {
      const device = isUuid(id) ? await Device.findByPk(id.toLowerCase()) : null;
      if (device === null) throw noDevice(id);
      return device;
    },
    rule: async (id) => {
      const rule = isUuid(id) ? await Rule.findByPk(id.toLowerCase()) : null;
      if (rule === null) throw noRule(id);
      return { id: rule.id, name: id };
    },
  };
}
