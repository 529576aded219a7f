// Two customers, one with a /48 and one with a /24, begin sign-ins through an identity provider by
// the hundred and end none. Somebody elsewhere, who began before, still ends theirs.

import test from 'ava';
import { openBadProvider } from '../support/auth/bad-openid-provider.ts';
import { oidcEntry } from '../support/auth/provider-entries.ts';
import { configOf, listen, openServer } from '../support/api/server.ts';
import { atGateway, Visitor } from '../support/web/visitor.ts';

/** Places of the gateway under attack; 20,000 take longer to fill, and nothing else differs. */
const PLACES = 200;

test('few networks leave room for the sign-ins of others', async (t) => {
  const config = listen(configOf({ API_RATE_LIMIT: '0', TRUSTED_PROXIES: '127.0.0.1' }));
  const services = { config, maxSignIns: PLACES };
  const opened = await openServer(t, 'sqlite over a socket', {}, services);
  const { server, database } = opened;
  const idp = await openBadProvider(t);
  const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri });
  const configuration = { openid_connect_providers: [entry] };
  await opened.send('PATCH', '/v0/configuration', { body: { configuration } });
  const from = (address: string): Visitor => {
    const visitor = new Visitor(atGateway(server.info.uri));
    visitor.headers = { ...visitor.headers, 'x-forwarded-for': address };
    return visitor;
  };
  const ann = from('198.51.100.7');
  const begun = await ann.get('/auth/oidc/okta');
  t.is(begun.status, 302, begun.text);
  for (let i = 1; i <= PLACES; i += 1) {
    await from(`2001:db8:1:${i.toString(16)}::1`).get('/auth/oidc/okta');
    await from(`192.0.2.${i}`).get('/auth/oidc/okta');
  }
  t.true((await database.models.SignInRequest.count()) <= PLACES + 50);
  const query = idp.authorize(begun.location ?? '').toString();
  const done = await ann.get(`/auth/oidc/okta/callback/?${query}`);
  t.is(done.status, 303, done.text);
  const metrics = await opened.send('GET', '/metrics');
  t.regex(metrics.text, /wg_gateway_sign_ins_total\{result="forgotten_for_others"\} [1-9]/);
});
