// Trust in a provider and released links open accounts to people whom the provider names. Over /v0
// only a valid token of an administrator changes them: no token of a user, no expired token, no
// session of a browser. Answers do not show whether an id exists.

import test, { type ExecutionContext } from 'ava';
import { createToken } from '../../lib/auth/tokens.ts';
import { type User, writeTransaction } from '../../models/index.ts';
import { addIdentity } from '../models/fixtures.ts';
import { idpMetadata } from '../support/auth/bad-saml-provider.ts';
import { signOnService } from '../support/auth/identity-provider.ts';
import { configure } from '../support/web/portal.ts';
import { samlEntry } from '../support/auth/provider-entries.ts';
import { openServer, type TestServer } from '../support/api/server.ts';
import { addPerson, atGateway, Visitor } from '../support/web/visitor.ts';

const LIST = '/v0/trusted_providers';
const ONE = `${LIST}/saml/saml-idp`;

/** All requests that exist. */
const ASKED = [
  ['GET', LIST, undefined],
  ['PUT', ONE, { trusted_provider: { trusted: true } }],
  ['PATCH', ONE, { trusted_provider: { trusted: true } }],
  ['PUT', `${ONE}/relink`, { relink: { everyone: true } }],
  ['PATCH', `${ONE}/relink`, { relink: { everyone: true } }],
] as const;

/** A gateway that listens, with an entry and a user who is linked through it. */
async function open(t: ExecutionContext) {
  const server = await openServer(t, 'sqlite over a socket', { API_RATE_LIMIT: '0' });
  const { base_url: _default, ...entry } = samlEntry({ metadata: idpMetadata(signOnService()) });
  await configure(server, { saml_identity_providers: [entry] });
  const { database } = server;
  const linked = await addIdentity(database, await addPerson(database, 'linked@example.com'));
  const place = { kind: 'saml', provider_id: 'saml-idp' } as const;
  await writeTransaction(database, (transaction) => linked.update(place, { transaction }));
  const isUntouched = async (): Promise<boolean> =>
    (await database.models.TrustedProvider.count()) === 0 &&
    (await linked.reload()).relink_until === null;
  return { server, isUntouched };
}

type Asked = (typeof ASKED)[number];

/** Sends a request with a token, or without one; returns the status and the text of the answer. */
async function ask(server: TestServer, token: string | null, [method, path, body]: Asked) {
  const { status, text } = await server.send(method, path, { token, body });
  return { status, text };
}

/** A token of an administrator whose account was changed afterwards. */
async function tokenOfFormer(
  t: ExecutionContext,
  server: TestServer,
  change: Partial<User>,
): Promise<string> {
  const { database } = server;
  const user = await addPerson(database, 'former@example.com', { role: 'admin' });
  const { token } = await createToken(database, { email: user.email, name: 'a' });
  t.is((await ask(server, token, ASKED[0])).status, 200, 'it was good');
  await writeTransaction(database, (transaction) => user.update(change, { transaction }));
  return token;
}

for (const [says, change, status] of [
  ['a disabled administrator', { disabled_at: new Date() }, 401],
  ['a former administrator', { role: 'unprivileged' }, 403],
] as const)
  test(`the token of ${says} reads and writes nothing`, async (t) => {
    const { server, isUntouched } = await open(t);
    const token = await tokenOfFormer(t, server, change);
    for (const asked of ASKED) {
      const answer = await ask(server, token, asked);
      t.is(answer.status, status, `${asked[0]} ${asked[1]}`);
      t.false(answer.text.includes('saml-idp'));
    }
    t.true(await isUntouched());
  });

test('a missing, an invented and a revoked token read and write nothing', async (t) => {
  const { server, isUntouched } = await open(t);
  const { database } = server;
  const revoked = await tokenOfFormer(t, server, {});
  await writeTransaction(database, (transaction) =>
    database.models.ApiToken.destroy({ where: { name: 'a' }, transaction }),
  );
  for (const token of [null, '', 'x', `pst_${'A'.repeat(43)}`, revoked])
    for (const asked of ASKED) {
      const answer = await ask(server, token, asked);
      t.is(answer.status, 401, `${token} ${asked[0]} ${asked[1]}`);
      t.false(answer.text.includes('saml-idp'));
    }
  t.true(await isUntouched());
});

test('the session of an administrator is no token: a page of another site changes nothing', async (t) => {
  const { server, isUntouched } = await open(t);
  await addPerson(server.database, 'boss@example.com', { role: 'admin' });
  const admin = new Visitor(atGateway(server.server.info.uri));
  t.is((await admin.signIn('boss@example.com')).status, 303);
  const cookie = [...admin.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  for (const [method, path, body] of ASKED) {
    const headers = { cookie, origin: 'https://evil.example' };
    t.is((await server.send(method, path, { token: null, headers, body })).status, 401);
  }
  t.true(await isUntouched());
});

test('an id that does not exist is not found, whatever it looks like', async (t) => {
  const { server, isUntouched } = await open(t);
  const ids = [
    'saml/none',
    'oidc/saml-idp',
    'saml/SAML-IDP',
    'saml/__proto__',
    '__proto__/saml-idp',
    'constructor/saml-idp',
    'saml/saml-idp%00',
    "saml/x'%20OR%20'1'='1",
    'saml/..%2Fsaml-idp',
    `saml/${'a'.repeat(2_000)}`,
  ];
  for (const id of ids)
    for (const [path, body] of [
      [`${LIST}/${id}`, { trusted_provider: { trusted: true } }],
      [`${LIST}/${id}/relink`, { relink: { everyone: true } }],
    ] as const) {
      const { status, text } = await server.send('PUT', path, { body });
      t.is(status, 404, `${id}: ${text}`);
      // Without a token even that is not revealed.
      t.is((await server.send('PUT', path, { token: null, body })).status, 401, id);
    }
  t.true(await isUntouched());
});
