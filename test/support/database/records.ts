// Records written past the API, for tests of what follows a write; each tells its revision.

import { randomBytes } from 'node:crypto';
import { type Database, type Device, type User, writeTransaction } from '../../../models/index.ts';
import type { RuleScope } from '../../../models/tables/rule.ts';

let count = 0;

export async function addUser(
  database: Database,
  fields: Partial<User> = {},
): Promise<{ id: string; revision: number }> {
  const email = `person-${++count}@example.test`;
  const { result, revision } = await writeTransaction(database, (transaction) =>
    database.models.User.create({ email, ...fields }, { transaction }),
  );
  return { id: result.id, revision };
}

/** A device with addresses of its own. */
export async function addDevice(
  database: Database,
  userId: string,
  fields: Partial<Device> = {},
): Promise<{ id: string; public_key: string; revision: number }> {
  const number = ++count;
  const { result, revision } = await writeTransaction(database, (transaction) =>
    database.models.Device.create(
      {
        user_id: userId,
        name: `device-${number}`,
        public_key: randomBytes(32).toString('base64'),
        preshared_key: randomBytes(32).toString('base64'),
        ipv4: `100.64.${(number >> 8) & 255}.${number & 255}`,
        ipv6: `fd00::${number.toString(16)}`,
        ...fields,
      },
      { transaction },
    ),
  );
  return { id: result.id, public_key: result.public_key, revision };
}

export async function addRule(
  database: Database,
  fields: Partial<RuleScope> & Pick<RuleScope, 'destination'>,
): Promise<{ id: string; revision: number }> {
  const { result, revision } = await writeTransaction(database, (transaction) =>
    database.models.Rule.create({ ...fields }, { transaction }),
  );
  return { id: result.id, revision };
}
