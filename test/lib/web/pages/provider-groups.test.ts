// Groups that providers name, page by page: with a certified OpenID provider and a SAML provider
// that others wrote, over real HTTP, and with ones that lie.

import test, { type ExecutionContext } from 'ava';
import { serviceProvider } from '../../../../lib/auth/saml/service-provider.ts';
import {
  type OpenidConnectProvider,
  readAuditEntries,
  type SamlIdentityProvider,
} from '../../../../models/index.ts';
import { openBadProvider } from '../../../support/auth/bad-openid-provider.ts';
import { formIn, openRealProvider, Person } from '../../../support/auth/openid-provider.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';
import { openSamlProvider } from '../../../support/auth/saml-provider.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { openServer, type TestServer } from '../../../support/api/server.ts';
import { addPerson, personOf, Visitor } from '../../../support/web/visitor.ts';

const HOME = 'http://127.0.0.1:13000/';
const CALLBACK = `${HOME}auth/oidc/okta/callback/`;
const CONSUME = 'auth/saml/sp/consume/saml-idp';
const EMAIL = 'person@example.com';

async function configure(
  t: ExecutionContext,
  { send }: TestServer,
  openid: OpenidConnectProvider[],
  saml: Omit<SamlIdentityProvider, 'base_url'>[] = [],
): Promise<void> {
  const configuration = { openid_connect_providers: openid, saml_identity_providers: saml };
  const saved = await send('PATCH', '/v0/configuration', { body: { configuration } });
  t.is(saved.status, 200, saved.text);
}

async function trust(t: ExecutionContext, { send }: TestServer): Promise<void> {
  const body = { trusted_provider: { trusted: true } };
  t.is((await send('PUT', '/v0/trusted_providers/oidc/okta', { body })).status, 200);
}

/** The memberships of the person as `group: sources`. */
async function membershipsOf({ send, database }: TestServer): Promise<string[]> {
  const { id } = await personOf(database, EMAIL);
  const { data } = (await send('GET', `/v0/groups?user_id=${id}`)).body;
  const found = [];
  for (const group of data) {
    const members = (await send('GET', `/v0/groups/${group.id}/members`)).body.data;
    const [me] = members.filter((member: { id: string }) => member.id === id);
    found.push(`${group.name}: ${me.sources.join(' ')}`);
  }
  return found.toSorted();
}

/** A liar in place of a provider, which says whatever a test likes. */
async function withLiar(t: ExecutionContext, changes: Partial<OpenidConnectProvider>) {
  const server = await openServer(t, 'sqlite');
  const idp = await openBadProvider(t);
  const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri, ...changes });
  const signIn = async (groups: unknown, more: Record<string, unknown> = {}): Promise<void> => {
    idp.bent.claims = { groups, ...more };
    idp.bent.userinfo = { sub: 'subject-1' };
    const visitor = new Visitor(server);
    const begun = await visitor.get('/auth/oidc/okta');
    const query = idp.authorize(begun.location ?? '');
    const done = await visitor.get(`/auth/oidc/okta/callback/?${query.toString()}`);
    t.is(done.status, 303, done.text);
  };
  return { server, idp, entry, signIn };
}

for (const kind of firstKind()) {
  test(`${kind}: groups of a real OpenID provider come and go with the sign-ins`, async (t) => {
    const server = await openServer(t, kind);
    const idp = await openRealProvider(
      t,
      { redirectUris: [CALLBACK] },
      { claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] } },
    );
    const entry = oidcEntry({
      discovery_document_uri: idp.discoveryUri,
      groups_claim: 'groups',
      groups_create: true,
    });
    await configure(t, server, [entry]);
    const signIn = async (groups: unknown): Promise<void> => {
      idp.people.set('alice', { email: EMAIL, email_verified: true, groups });
      const visitor = new Visitor(server);
      const begun = await visitor.get('/auth/oidc/okta');
      const back = await new Person('alice').visit(begun.location ?? '', HOME);
      t.is((await visitor.get(back.slice(HOME.length - 1))).status, 303);
    };
    await signIn(['vpn', 'staff']);
    t.deepEqual(await membershipsOf(server), ['staff: oidc/okta', 'vpn: oidc/okta']);
    const group = (await server.send('GET', '/v0/groups?name=vpn')).body.data[0];
    t.is(group.provider, 'oidc/okta');
    const { id } = await personOf(server.database, EMAIL);
    t.is((await server.send('PUT', `/v0/groups/${group.id}/members/${id}`)).status, 200);
    await signIn(['staff']);
    t.deepEqual(await membershipsOf(server), ['staff: oidc/okta', 'vpn: manual']);
    await signIn(undefined);
    t.deepEqual(await membershipsOf(server), ['vpn: manual']);
  });

  test(`${kind}: groups of a real SAML provider are those of its attribute`, async (t) => {
    const server = await openServer(t, kind);
    const { config, database } = server.services;
    const { key } = await serviceProvider(config, database);
    const idp = await openSamlProvider(t, HOME + CONSUME, key);
    const { base_url: _ours, ...entry } = samlEntry({
      metadata: idp.metadata,
      groups_attribute: 'http://schemas.passportjs.com/memberOf',
      groups_map: { 'cn=vpn,dc=example': 'Engineering' },
      groups_create: true,
    });
    await configure(t, server, [], [entry]);
    const signIn = async (memberOf: string[]): Promise<void> => {
      idp.options['getUserFromRequest'] = () => ({
        id: 'n-1',
        displayName: 'Person',
        emails: [{ value: EMAIL }],
        name: {},
        memberOf,
      });
      const visitor = new Visitor(server);
      const begun = await visitor.get('/auth/saml/auth/signin/saml-idp');
      const form = formIn(await (await fetch(begun.location ?? '')).text(), begun.location ?? '');
      const stranger = new Visitor(server);
      stranger.headers = { ...stranger.headers, 'sec-fetch-site': 'cross-site' };
      const posted = await stranger.send('POST', `/${CONSUME}`, form?.fields ?? {});
      const done = await visitor.get(posted.location ?? '');
      t.is(done.status, 303, done.text);
    };
    await signIn(['cn=vpn,dc=example', 'cn=staff,dc=example']);
    t.deepEqual(await membershipsOf(server), ['Engineering: saml/saml-idp']);
    await signIn(['cn=staff,dc=example']);
    t.deepEqual(await membershipsOf(server), []);
  });
}

test('a provider reaches no group of administrators or of another provider by its name', async (t) => {
  const { server, entry, signIn } = await withLiar(t, {
    groups_claim: 'groups',
    groups_create: true,
  });
  for (const name of ['Admins', 'VPN'])
    await server.send('POST', '/v0/groups', { body: { group: { name } } });
  await configure(t, server, [entry]);
  await signIn(['Admins', 'VPN', 'vpn', 'ＶＰＮ', 'VPN ', 'V\u200bPN']);
  const own = await membershipsOf(server);
  t.false(
    own.some((text) => /^(Admins|VPN):/.test(text)),
    own.join(),
  );
  t.deepEqual(own, ['vpn: oidc/okta', 'ＶＰＮ: oidc/okta'], 'one has an unseen character');
  await configure(t, server, [{ ...entry, groups_map: { vpn: 'VPN' } }]);
  await signIn(['vpn', 'Admins']);
  t.deepEqual(await membershipsOf(server), ['VPN: oidc/okta'], 'an administrator mapped it');
});

test('what cannot be read keeps nobody out, and an administrator reads why', async (t) => {
  const { server, entry, signIn } = await withLiar(t, {
    groups_claim: 'groups',
    groups_create: true,
  });
  await configure(t, server, [entry]);
  await signIn(['vpn']);
  for (const [groups, more, problem] of [
    [undefined, { _claim_names: { groups: 'src1' } }, 'groups_overage'],
    [{ vpn: true }, {}, 'groups_unreadable'],
    [Array.from({ length: 1_001 }, (_, i) => `g${i}`), {}, 'groups_too_many_names'],
  ] as const) {
    await signIn(groups, more);
    t.deepEqual(await membershipsOf(server), ['vpn: oidc/okta'], problem);
    t.true(JSON.stringify(server.log).includes(problem), problem);
    const admin = new Visitor(server);
    await addPerson(server.database, `${problem}@example.com`, { role: 'admin' });
    await admin.signIn(`${problem}@example.com`);
    t.regex(
      (await admin.get('/dashboard')).text,
      /The groups of 1 account were not taken/,
      problem,
    );
  }
  await signIn(Array.from({ length: 30 }, (_, i) => `g${i + 10}`));
  t.is((await membershipsOf(server)).length, 16);
  t.true(JSON.stringify(server.log).includes('groups_left_out'));
});

test('only a trusted provider makes administrators, and its own word ends it', async (t) => {
  const { server, entry, signIn } = await withLiar(t, { groups_claim: 'groups' });
  await configure(t, server, [entry]);
  await trust(t, server);
  await configure(t, server, [{ ...entry, admin_group: 'admins' }]);
  const roleAfter = async (...groups: string[]): Promise<string> => {
    await signIn(groups);
    return (await personOf(server.database, EMAIL)).role;
  };
  t.is(await roleAfter('Admins'), 'unprivileged');
  t.is(await roleAfter('admins'), 'admin');
  const visitor = new Visitor(server);
  const begun = await visitor.get('/auth/oidc/okta');
  t.is(begun.status, 302);
  t.is(await roleAfter(), 'unprivileged');
  t.is(await roleAfter('admins'), 'admin');
  const body = { trusted_provider: { trusted: false } };
  await server.send('PUT', '/v0/trusted_providers/oidc/okta', { body });
  t.is((await personOf(server.database, EMAIL)).role, 'unprivileged');
  t.is(await roleAfter('admins'), 'unprivileged', 'without the mark it counts for nothing');
});

test('a policy test holds up no sign-in, and fails where everybody can see it', async (t) => {
  const { server, entry, signIn } = await withLiar(t, {
    groups_claim: 'groups',
    groups_create: true,
  });
  const { send, database } = server;
  await configure(t, server, [entry]);
  await signIn(['vpn']);
  await signIn([]);
  const { id: group_id } = (await send('GET', '/v0/groups?name=vpn')).body.data[0];
  const { id: user_id } = await personOf(database, EMAIL);
  const packet = { destination: '10.0.0.5', protocol: 'tcp', port: 443 };
  const policy_test = { name: 'wiki', user_id, ...packet, expect: 'accept' };
  const { id } = (await send('POST', '/v0/policy_tests', { body: { policy_test } })).body.data;
  const rule = { action: 'drop', destination: '10.0.0.0/8', group_id };
  t.is((await send('POST', '/v0/rules', { body: { rule } })).status, 201);
  await signIn(['vpn']);
  t.deepEqual(await membershipsOf(server), ['vpn: oidc/okta']);
  t.like((await send('GET', `/v0/policy_tests/${id}`)).body.data, { passes: false });
  const [entryOfTrail] = await readAuditEntries(database, { limit: 2, action: 'fail' });
  t.like(entryOfTrail, { record_id: id, changes: { forced: { to: false } } });
  const lines = server.log.filter((line) => JSON.stringify(line).includes('policy tests fail'));
  t.is(lines.length, 1);
  const without = { openid_connect_providers: [] };
  t.is(
    (await send('PATCH', '/v0/configuration', { body: { configuration: without } })).status,
    200,
  );
  t.like((await send('GET', `/v0/policy_tests/${id}`)).body.data, { passes: true });
});
