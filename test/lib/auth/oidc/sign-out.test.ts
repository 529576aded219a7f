// Where signing out goes on: at the provider of the session, if it has a place for that.

import test from 'ava';
import { OidcClients } from '../../../../lib/auth/oidc/client.ts';
import { signOutAddress } from '../../../../lib/auth/oidc/sign-out.ts';
import { keepTokens } from '../../../../models/index.ts';
import { addIdentity, addUser, write } from '../../../models/fixtures.ts';
import { CLIENT, openBadProvider } from '../../../support/auth/bad-openid-provider.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';

const externalUrl = 'http://127.0.0.1:13000/';
const limits = { timeoutMs: 30_000, bytesMax: 50_000 };

for (const kind of firstKind())
  test(`${kind}: the provider learns who signs out, and where to come back`, async (t) => {
    const database = await openDatabase(t, kind);
    const idp = await openBadProvider(t);
    const provider = oidcEntry({ discovery_document_uri: idp.discoveryUri });
    const user = await addUser(database);
    const identity = await addIdentity(database, user);
    const now = new Date();
    await write(database, (transaction) =>
      keepTokens(
        database,
        identity.id,
        { tokens: { idToken: 'the-id-token' }, refreshAt: now, now },
        transaction,
      ),
    );
    const ask = (method: string, providers = [provider], user_id = user.id) =>
      signOutAddress(
        { database, clients: new OidcClients(limits), providers, externalUrl },
        { method, user_id },
      );
    const address = new URL((await ask('oidc/okta')) ?? '');
    t.is(address.origin + address.pathname, `${idp.origin}/end`);
    t.deepEqual(Object.fromEntries(address.searchParams), {
      client_id: CLIENT.id,
      post_logout_redirect_uri: externalUrl,
      id_token_hint: 'the-id-token',
    });
    const other = await addUser(database);
    t.false((await ask('oidc/okta', [provider], other.id))?.includes('id_token_hint') ?? true);
    for (const method of ['email', 'saml/okta', 'oidc/gone']) t.is(await ask(method), null, method);
    t.is(await ask('oidc/okta', []), null);
    idp.bent.document = { end_session_endpoint: undefined };
    t.is(await ask('oidc/okta'), null, 'it has no such place');
    idp.bent.document = { issuer: 5 };
    t.is(await ask('oidc/okta'), null, 'it is away');
  });
