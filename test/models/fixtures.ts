// Rows for the tests of the models, made with as little said as possible.

import { randomBytes } from 'node:crypto';
import type {
  ApiToken,
  Database,
  Device,
  Identity,
  Rule,
  Transaction,
  User,
} from '../../models/index.ts';
import type { RuleScope } from '../../models/tables/rule.ts';
import { identityKey, writeTransaction } from '../../models/index.ts';

let count = 0;

/** 32 random bytes in base64: a key of either kind. */
export function randomKey(): string {
  return randomBytes(32).toString('base64');
}

/** Runs one write and returns what it made. */
export async function write<T>(
  database: Database,
  fn: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  return (await writeTransaction(database, fn)).result;
}

/** Values of a user that nobody else has. */
export function userValues() {
  count += 1;
  return { email: `user-${count}@example.com` };
}

/** Values of a device that nobody else has. */
export function deviceValues(userId: string) {
  count += 1;
  return {
    user_id: userId,
    name: `device-${count}`,
    public_key: randomKey(),
    preshared_key: randomKey(),
  };
}

/** Values of a token that nobody else has. */
export function tokenValues(userId: string) {
  return { user_id: userId, name: 'token', sha256: randomBytes(32).toString('hex') };
}

/** Makes a user. */
export function addUser(database: Database, values: Partial<User> = {}): Promise<User> {
  return write(database, (transaction) =>
    database.models.User.create({ ...userValues(), ...values }, { transaction }),
  );
}

/** Makes a device. */
export function addDevice(
  database: Database,
  user: User,
  values: Partial<ReturnType<typeof deviceValues> & Pick<Device, 'ipv4' | 'ipv6'>> = {},
): Promise<Device> {
  return write(database, (transaction) =>
    database.models.Device.create({ ...deviceValues(user.id), ...values }, { transaction }),
  );
}

/** Makes a rule. */
export function addRule(
  database: Database,
  values: Partial<RuleScope> & Pick<RuleScope, 'destination'> & { enforced?: boolean },
): Promise<Rule> {
  return write(database, (transaction) =>
    database.models.Rule.create({ ...values }, { transaction }),
  );
}

/** Makes a token. */
export function addToken(database: Database, user: User): Promise<ApiToken> {
  return write(database, (transaction) =>
    database.models.ApiToken.create(tokenValues(user.id), { transaction }),
  );
}

/** Values of an identity that nobody else has. */
export function identityValues(userId: string) {
  count += 1;
  const account = {
    kind: 'oidc' as const,
    provider_id: 'okta',
    issuer: 'https://id.example',
    subject: `subject-${count}`,
  };
  return { user_id: userId, ...account, account_key: identityKey(account) };
}

/** Makes an identity. */
export function addIdentity(database: Database, user: User): Promise<Identity> {
  return write(database, (transaction) =>
    database.models.Identity.create(identityValues(user.id), { transaction }),
  );
}
