// Signing out at the provider too: where the browser goes after it signed out here (OpenID Connect
// RP-Initiated Logout 1.0). A provider that is away, or has no such place, keeps nobody from
// signing out here.

import type { Database, OpenidConnectProvider, Session } from '../../../models/index.ts';
import { providerOf } from '../identity/method.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { loadOpenidClient } from './client-authentication.ts';
import type { OidcClients } from './client.ts';

/** What finding the address needs. */
export interface SignOutContext {
  readonly database: Database;
  readonly clients: OidcClients;
  readonly providers: readonly OpenidConnectProvider[];
  /** The setting; the provider sends the browser back there. */
  readonly externalUrl: string;
}

/** The address at the provider of a session that ends; null where there is none to go to. */
export async function signOutAddress(
  { database, clients, providers, externalUrl }: SignOutContext,
  session: Pick<Session, 'method' | 'user_id'>,
): Promise<string | null> {
  const { kind, providerId } = providerOf(session.method) ?? {};
  const provider = providers.find(({ id }) => id === providerId);
  if (kind !== 'oidc' || provider === undefined) return null;
  try {
    const { configuration, endSessionEndpoint } = await clients.of(provider);
    if (endSessionEndpoint === null) return null;
    const { buildEndSessionUrl } = await loadOpenidClient();
    const idToken = await idTokenOf(database, session.user_id, provider.id);
    return buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: externalUrl,
      // With it the provider need not ask whether the person means it.
      ...(idToken === null ? {} : { id_token_hint: idToken }),
    }).href;
  } catch (error) {
    if (error instanceof ProviderRefusal) return null;
    throw error;
  }
}

async function idTokenOf(
  { models: { Identity, IdentityTokens } }: Database,
  userId: string,
  providerId: string,
): Promise<string | null> {
  const where = { user_id: userId, kind: 'oidc', provider_id: providerId };
  // A user may have several accounts there: the one that was used last.
  const identities = await Identity.findAll({ attributes: ['id'], where });
  const tokens = await IdentityTokens.findOne({
    where: { identity_id: identities.map(({ id }) => id) },
    order: [['refreshed_at', 'DESC']],
  });
  return tokens?.tokens.idToken ?? null;
}
