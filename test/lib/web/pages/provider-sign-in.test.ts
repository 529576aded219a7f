// What both kinds of providers share on the web: refusals as pages, in the log and in the counts.
// With real flows: openid-sign-in.test.ts, saml-sign-in.test.ts.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test from 'ava';
import { FIRST_ADMIN } from '../../../support/gateway/gateway-process.ts';
import { serveHere } from '../../../support/gateway/served-gateway.ts';
import { samlMetadata } from '../../../support/auth/identity-provider.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';
import { openServer } from '../../../support/api/server.ts';
import { atGateway, Visitor } from '../../../support/web/visitor.ts';

const places = [
  ['/auth/oidc/none', 'oidc'],
  ['/auth/oidc/none/callback/?code=c&state=s', 'oidc'],
  ['/auth/saml/auth/signin/none', 'saml'],
  ['/auth/saml/sp/metadata/none', 'saml'],
  ['/auth/saml/sp/complete/none?ticket=t', 'saml'],
  ['/auth/saml/sp/logout/none', 'saml'],
] as const;

test('a provider that is not there is 404 everywhere, counted, and not quoted in the log', async (t) => {
  const server = await openServer(t, 'sqlite');
  for (const [path, kind] of places) {
    const before = server.services.counters.of('sign_ins', `${kind}_unknown_provider`);
    const page = await new Visitor(server).get(path);
    t.is(page.status, 404, path);
    t.regex(page.text, /There is no such identity provider/);
    t.true(page.text.includes(String(page.headers['x-request-id'])));
    t.is(server.services.counters.of('sign_ins', `${kind}_unknown_provider`), before + 1);
  }
  const lines = server.log.filter(({ message }) => message.includes('was refused'));
  t.is(lines.length, places.length);
  for (const { level, fields } of lines)
    t.like({ level, ...fields }, { level: 'info', provider: null });
});

test('programs are answered in JSON', async (t) => {
  const server = await openServer(t, 'sqlite');
  const visitor = new Visitor(server);
  visitor.headers['accept'] = 'application/json';
  const answer = await visitor.get('/auth/oidc/none');
  t.is(answer.status, 404);
  t.deepEqual(JSON.parse(answer.text), { error: 'not_found' });
});

test('names of objects are no providers', async (t) => {
  const server = await openServer(t, 'sqlite');
  for (const id of ['__proto__', 'constructor', '%00', '..%2f..'])
    t.is((await new Visitor(server).get(`/auth/oidc/${id}`)).status, 404, id);
});

// docs/bugs-of-others.md#bug-21: start with a broken provider.
test('a gateway starts and lets in by password, whatever its providers are', async (t) => {
  let asked = 0;
  const unanswered = createServer(() => (asked += 1)).listen(0, '127.0.0.1');
  await once(unanswered, 'listening');
  t.teardown(() => unanswered.close());
  const { port } = unanswered.address() as AddressInfo;
  const away = oidcEntry({ id: 'away' });
  const silent = oidcEntry({ id: 'silent', discovery_document_uri: `http://127.0.0.1:${port}/x` });
  const { base_url: _default, ...saml } = samlEntry({ metadata: samlMetadata() });
  const gateway = await serveHere(t, {
    OPENID_CONNECT_PROVIDERS: JSON.stringify([away, silent]),
    SAML_IDENTITY_PROVIDERS: JSON.stringify([saml]),
  });
  t.is(asked, 0, 'nobody is waited for');
  const visitor = new Visitor(atGateway(gateway.url));
  const refused = await visitor.get('/auth/oidc/away');
  t.is(refused.status, 502);
  t.regex(refused.text, /cannot be reached/);
  t.true(refused.text.includes(String(refused.headers['x-request-id'])));
  const { email, password } = FIRST_ADMIN;
  t.is((await visitor.signIn(email, password)).status, 303);
});
