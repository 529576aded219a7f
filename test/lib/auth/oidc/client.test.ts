// Our side of an OpenID provider: what is remembered of it, and for how long a bad document is.

import test from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import { OidcClients } from '../../../../lib/auth/oidc/client.ts';
import { discoveryDocument, openProvider } from '../../../support/auth/identity-provider.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';

const limits = { timeoutMs: 30_000, bytesMax: 50_000 };

test('a document is fetched once for many sign-ins, even at the same time', async (t) => {
  const { origin, asked } = await openProvider(t);
  const clients = new OidcClients(limits);
  const provider = oidcEntry({ discovery_document_uri: origin });
  await Promise.all([clients.of(provider), clients.of(provider)]);
  await clients.of({ ...provider, client_secret: 'another' });
  t.is(asked.length, 1);
  await clients.of({ ...provider, discovery_document_uri: `${origin}/other` });
  t.is(asked.length, 2, 'another address is another document');
});

test('a bad document is requested again', async (t) => {
  let isGood = false;
  const { origin, asked } = await openProvider(t, (_request, response) => {
    response.end(isGood ? JSON.stringify(discoveryDocument('http://x.example')) : 'no');
  });
  const clients = new OidcClients(limits);
  const provider = oidcEntry({ discovery_document_uri: origin });
  await t.throwsAsync(clients.of(provider), { instanceOf: ProviderRefusal });
  isGood = true;
  await t.notThrowsAsync(clients.of(provider));
  t.is(asked.length, 2);
});

test('an end-session endpoint is used only if it is an HTTP address', async (t) => {
  for (const [sent, found] of [
    ['http://x.example/end', 'http://x.example/end'],
    ['javascript:alert(1)', null],
    [5, null],
    [undefined, null],
  ] as const) {
    const { origin } = await openProvider(t, (_request, response) => {
      const document = discoveryDocument('http://x.example');
      response.end(JSON.stringify({ ...document, end_session_endpoint: sent }));
    });
    const provider = oidcEntry({ discovery_document_uri: origin });
    t.is((await new OidcClients(limits).of(provider)).endSessionEndpoint, found);
  }
});
