// What both kinds of providers share on the web: refusals as pages, in the log and in the counts.
// With real flows: openid-sign-in.test.ts, saml-sign-in.test.ts.

import test from 'ava';
import { openServer } from '../../../support/server.ts';
import { Visitor } from '../../../support/visitor.ts';

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
