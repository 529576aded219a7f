// The administrator of a new installation. It does not matter how often a start happens, or in how
// many processes at once: only the first one makes an administrator.

import { randomBytes } from 'node:crypto';
import type { Config } from '../../../config/index.ts';
import type { Database } from '../../../models/index.ts';
import { makeFirstUser } from '../../auth/accounts.ts';
import { createToken, ensureBootstrapToken } from '../../auth/tokens.ts';

const FIRST_ADMINISTRATOR = 'admin@localhost';

/** What a person must see once, because the database keeps only hashes. */
export interface FirstCredentials {
  readonly email: string;
  readonly password: string;
  readonly token: string;
}

/**
 * Makes the first administrator if there is none. Returns what to show if the password was made
 * here; null if settings gave it or if there is an administrator already.
 */
export async function makeFirstAdministrator(
  config: Config,
  database: Database,
  gatewayId: string,
  passwordCost?: number,
): Promise<FirstCredentials | null> {
  const { defaultAdminEmail, defaultAdminPassword } = config;
  if (defaultAdminEmail !== null && defaultAdminPassword !== null) {
    const given = { email: defaultAdminEmail, password: defaultAdminPassword };
    await makeFirstUser(database, given, passwordCost);
    await ensureBootstrapToken(database, gatewayId, config.bootstrapApiToken);
    return null;
  }
  const email = FIRST_ADMINISTRATOR;
  const password = randomBytes(15).toString('base64url');
  const isFirst = await makeFirstUser(database, { email, password }, passwordCost);
  await ensureBootstrapToken(database, gatewayId, config.bootstrapApiToken);
  if (!isFirst) return null;
  const { token } = await createToken(database, { email, name: 'first start' });
  return { email, password, token };
}
