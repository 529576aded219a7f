// A SAML provider refuses to sign a person in: if the setting says so, no packet of the person's
// devices passes any more.

import {
  actAs,
  type Database,
  lockScopes,
  type Origin,
  type Revision,
  writeTransaction,
} from '../../../models/index.ts';
import { disableByProvider } from '../identity/disable.ts';
import { methodOf, shownMethod } from '../identity/method.ts';

/** Disables who was asked about, if they sign in that way. */
export async function shutOutDenied(
  database: Database,
  { userId, providerId }: { readonly userId: string; readonly providerId: string },
  origin: Origin,
): Promise<Revision> {
  const method = methodOf('saml', providerId);
  const { revision } = await writeTransaction(database, async (transaction) => {
    actAs(transaction, origin);
    await lockScopes(database, transaction, { configuration: true });
    const { User, Identity } = database.models;
    const user = await User.findByPk(userId, { transaction, lock: true });
    const where = { user_id: userId, kind: 'saml', provider_id: providerId };
    const bound = await Identity.count({ where, transaction });
    const isTheirs = bound > 0 || user?.last_signed_in_method === shownMethod(method);
    if (isTheirs) await disableByProvider(database, userId, method, transaction);
  });
  return revision;
}
