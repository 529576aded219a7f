// What entries require of claims. The tokens have the shape that the well-known providers give
// them; they were written by hand after these formats, none was captured.

import test, { type ExecutionContext } from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import {
  checkRequiredClaim,
  checkRequiredClaimIfSent,
  type Claims,
  claimsAsked,
  emailOf,
  groupsOf,
  holdsClaims,
  nameIn,
} from '../../../../lib/auth/oidc/claims.ts';
import { OidcClients } from '../../../../lib/auth/oidc/client.ts';
import { beginOidc, finishOidc, redirectUriOf } from '../../../../lib/auth/oidc/sign-in.ts';
import type { OpenidConnectProvider } from '../../../../models/index.ts';
import { openBadProvider } from '../../../support/auth/bad-openid-provider.ts';
import { proofOf } from '../../../support/auth/openid-provider.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';

type Asking = Parameters<typeof emailOf>[0];

function refusalOf(t: ExecutionContext, asking: Asking, ...sources: Claims[]): string {
  const error = t.throws(() => checkRequiredClaim(asking, sources), {
    instanceOf: ProviderRefusal,
  });
  return error?.message ?? '';
}

test('an entry without requirements reads the e-mail and admits everybody', (t) => {
  t.deepEqual(claimsAsked({}), ['email']);
  t.notThrows(() => checkRequiredClaim({}, [{}]));
  t.deepEqual(emailOf({}, [{ upn: 'a@x' }]), { email: null, isEmailVerified: null });
});

test('the name of a person is the claim name of the ID token, else of userinfo', (t) => {
  t.deepEqual(nameIn([{ name: 'Ann' }, { name: 'Bo' }]), { name: 'Ann' });
  t.deepEqual(nameIn([{ name: '' }, { name: 'Bo' }]), { name: 'Bo' });
  t.deepEqual(nameIn([{ sub: 's' }]), {});
});

test('e-mail and email_verified come from one source, the ID token before userinfo', (t) => {
  const token = { email: 'a@x', email_verified: true };
  const userinfo = { email: 'b@x', email_verified: false };
  t.deepEqual(emailOf({}, [token, userinfo]), { email: 'a@x', isEmailVerified: true });
  const said = emailOf({}, [{ email_verified: true }, userinfo]);
  t.deepEqual(said, { email: 'b@x', isEmailVerified: false });
});

test('null and an empty text in the token hide nothing of userinfo; an empty list does', (t) => {
  const required_claim = { name: 'realm_access.roles', value: 'vpn' };
  const asking: Asking = { required_claim, groups_claim: 'groups' };
  const userinfo = {
    email: 'b@x',
    email_verified: true,
    realm_access: { roles: ['vpn'] },
    groups: ['staff'],
  };
  for (const empty of [null, '']) {
    const token = { email: empty, realm_access: { roles: empty }, groups: empty };
    t.false(holdsClaims(asking, [], token), 'userinfo is asked');
    t.deepEqual(emailOf(asking, [token, userinfo]), { email: 'b@x', isEmailVerified: true });
    t.notThrows(() => checkRequiredClaim(asking, [token, userinfo]));
    t.deepEqual(groupsOf(asking, [token, userinfo]), { names: ['staff'] });
    // Where userinfo says nothing, the token's claim is the answer: it admits nobody.
    t.is(refusalOf(t, asking, token), 'claim_required: another realm_access.roles');
    t.throws(() => checkRequiredClaimIfSent(asking, [token]), { instanceOf: ProviderRefusal });
  }
  const token = { realm_access: { roles: [] }, groups: [] };
  t.true(holdsClaims(asking, [required_claim.name], token));
  t.deepEqual(groupsOf(asking, [token, userinfo]), { names: [] });
  t.is(refusalOf(t, asking, token, userinfo), 'claim_required: another realm_access.roles');
});

test('a required claim is found by its name, else by the way that dots lead', (t) => {
  const asking = { required_claim: { name: 'realm_access.roles', value: 'vpn' } };
  t.notThrows(() => checkRequiredClaim(asking, [{ realm_access: { roles: ['a', 'vpn'] } }]));
  t.notThrows(() => checkRequiredClaim(asking, [{ 'realm_access.roles': 'vpn' }]));
  const both = { 'realm_access.roles': 'a', realm_access: { roles: ['vpn'] } };
  t.is(refusalOf(t, asking, both), 'claim_required: another realm_access.roles');
  t.is(
    refusalOf(t, asking, { realm_access: 'vpn' }),
    'claim_required: no claim realm_access.roles',
  );
});

test('an object whose members are all objects names by their keys, as Zitadel writes roles', (t) => {
  const path = 'urn:zitadel:iam:org:project:roles';
  const zitadel = { [path]: { vpn: { '28': 'acme.example' }, staff: { '28': 'acme.example' } } };
  t.deepEqual(groupsOf({ groups_claim: path }, [zitadel]), { names: ['vpn', 'staff'] });
  const asking = { required_claim: { name: path, value: 'vpn' } };
  t.notThrows(() => checkRequiredClaim(asking, [zitadel]));
  const nested = { required_claim: { name: 'project.roles', value: 'vpn' } };
  t.notThrows(() => checkRequiredClaim(nested, [{ project: { roles: { vpn: {} } } }]));
  t.is(refusalOf(t, asking, { [path]: { staff: {} } }), `claim_required: another ${path}`);
  t.deepEqual(groupsOf({ groups_claim: path }, [{ [path]: {} }]), { names: [] });
  for (const other of ['text', 7, true, null, ['vpn']]) {
    const mixed = { [path]: { vpn: {}, staff: other } };
    t.deepEqual(groupsOf({ groups_claim: path }, [mixed]), { problem: 'unreadable' });
    t.is(refusalOf(t, asking, mixed), `claim_required: another ${path}`);
  }
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`g${i}`, {}]));
  t.deepEqual(groupsOf({ groups_claim: 'g' }, [{ g: many }]), { problem: 'too_many_names' });
});

test('email_verified does not count for another claim than the e-mail', (t) => {
  const claims = { email: 'a@x', email_verified: true, preferred_username: 'admin@x' };
  const said = emailOf({ email_claim: 'preferred_username' }, [claims]);
  t.deepEqual(said, { email: 'admin@x', isEmailVerified: null });
});

test('groups are read by name, else by the way that dots lead', (t) => {
  const said = (path: string, ...sources: Claims[]) => groupsOf({ groups_claim: path }, sources);
  t.is(groupsOf({}, [{ groups: ['a'] }]), undefined, 'nobody asks');
  t.deepEqual(said('groups', { groups: ['a'] }, { groups: ['b'] }), { names: ['a'] });
  t.deepEqual(said('groups', {}, { groups: 'b' }), { names: ['b'] }, 'known by userinfo');
  t.deepEqual(said('groups', {}, {}), { names: [] });
  const keycloak = { realm_access: { roles: ['vpn'] } };
  t.deepEqual(said('realm_access.roles', keycloak), { names: ['vpn'] });
  const auth0 = { 'https://example.com/groups': ['vpn'] };
  t.deepEqual(said('https://example.com/groups', auth0), { names: ['vpn'] });
  for (const path of ['constructor.name', '__proto__', 'groups.length', 'groups.0', 'a.b.c', '.'])
    t.deepEqual(said(path, { groups: ['a'], a: 'text' }), { names: [] }, path);
  t.deepEqual(said('groups', { groups: { a: 1 } }), { problem: 'unreadable' });
});

test('groups that Entra leaves out of the token are a problem, unless they are elsewhere', (t) => {
  const overage = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } };
  const asking = { groups_claim: 'groups' };
  t.deepEqual(groupsOf(asking, [overage, {}]), { problem: 'overage' });
  t.deepEqual(groupsOf(asking, [overage, { groups: ['a'] }]), { names: ['a'] });
  t.deepEqual(groupsOf({ groups_claim: 'roles' }, [overage]), { names: [] });
  t.deepEqual(groupsOf(asking, [{ _claim_names: 'groups' }]), { names: [] });
});

test('userinfo is asked where the token lacks a claim, that of groups too', (t) => {
  const asking = { groups_claim: 'realm.roles' };
  t.true(holdsClaims({}, ['email'], { email: 'a@x' }));
  t.false(holdsClaims(asking, ['email'], { email: 'a@x' }));
  t.false(holdsClaims(asking, ['email'], { realm: { roles: [] } }));
  t.true(holdsClaims(asking, ['email'], { email: 'a@x', realm: { roles: [] } }));
});

test('a required claim must be exactly the value, or a list that holds it', (t) => {
  const asking = { required_claim: { name: 'groups', value: 'vpn' } };
  for (const good of ['vpn', ['staff', 'vpn']])
    t.notThrows(() => checkRequiredClaim(asking, [{ groups: good }]));
  t.notThrows(() => checkRequiredClaim(asking, [{}, { groups: 'vpn' }]), 'known by userinfo');
  for (const bad of ['VPN', 'vpn ', 'vpn,staff', [], [['vpn']], { vpn: true }, null, true])
    t.is(refusalOf(t, asking, { groups: bad }), 'claim_required: another groups');
  t.is(refusalOf(t, asking, {}, {}), 'claim_required: no claim groups');
  const first = refusalOf(t, asking, { groups: 'staff' }, { groups: 'vpn' });
  t.is(first, 'claim_required: another groups', 'the ID token is believed first');
  t.notThrows(() =>
    checkRequiredClaim({ required_claim: { name: 'ok', value: 'true' } }, [{ ok: true }]),
  );
  t.regex(
    refusalOf(t, { required_claim: { name: 'toString', value: 'x' } }, {}),
    /no claim toString/,
  );
});

/** The shape of one provider: claims of its ID token, and of userinfo where that has more. */
interface Shape {
  readonly says: string;
  readonly entry: Partial<OpenidConnectProvider>;
  readonly token: Record<string, unknown>;
  readonly userinfo?: Record<string, unknown>;
  /** Added to the discovery document. */
  readonly document?: Record<string, unknown>;
  /** The result: an address and whether it is verified, or why it is refused. */
  readonly comes: { email: string | null; isEmailVerified: boolean | null } | string;
}

const NONE = { email: undefined, email_verified: undefined };
const entra = {
  ...NONE,
  name: 'Alice Example',
  oid: '00000000-0000-0000-66f3-3332eca7ea81',
  preferred_username: 'alice@contoso.example',
  rh: '0.AAAA',
  sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
  tid: '9122040d-6c67-4c5b-b112-36a304b66dad',
  uti: 'fqiBqXLPj0eQa82S-IYFAA',
  ver: '2.0',
};
const entraDocument = {
  token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt'],
  id_token_signing_alg_values_supported: ['RS256'],
  subject_types_supported: ['pairwise'],
};
const google = {
  azp: 'postern',
  sub: '10769150350006150715113082367',
  at_hash: 'HK6E_P6Dh8Y93mRNtsDB1Q',
  hd: 'example.com',
  email: 'alice@example.com',
  email_verified: true,
};
const hd = { required_claim: { name: 'hd', value: 'example.com' } };
const okta = {
  ver: 1,
  jti: 'ID.TTmWA5',
  amr: ['pwd', 'mfa'],
  idp: '00o1uj5dxzkqo1SNL1d6',
  auth_time: 1_311_280_969,
  preferred_username: 'alice@example.com',
  email: 'alice@example.com',
  email_verified: true,
  groups: ['Everyone', 'VPN'],
};
const keycloak = {
  typ: 'ID',
  azp: 'postern',
  sid: '1c2a9bd0-55d8-4b0f-9f43-5f5e6a1a5e38',
  acr: '1',
  email: 'alice@example.com',
  email_verified: false,
  preferred_username: 'alice',
};

const shapes: Shape[] = [
  {
    says: 'Entra tells no e-mail of an account without a mailbox',
    entry: {},
    token: entra,
    userinfo: { name: 'Alice Example', picture: 'https://graph.microsoft.com/v1.0/me/photo' },
    document: entraDocument,
    comes: { email: null, isEmailVerified: null },
  },
  {
    says: 'Entra, by its user name',
    entry: { email_claim: 'preferred_username' },
    token: entra,
    document: entraDocument,
    comes: { email: 'alice@contoso.example', isEmailVerified: null },
  },
  {
    says: 'Entra, only one tenant',
    entry: {
      email_claim: 'preferred_username',
      required_claim: { name: 'tid', value: '00000000-6c67-4c5b-b112-36a304b66dad' },
    },
    token: entra,
    document: entraDocument,
    comes: 'claim_required: another tid',
  },
  {
    says: 'ADFS, by its UPN',
    entry: { email_claim: 'upn' },
    token: { ...NONE, upn: 'alice@corp.example', unique_name: 'CORP\\alice' },
    comes: { email: 'alice@corp.example', isEmailVerified: null },
  },
  {
    says: 'Google, of our organisation',
    entry: hd,
    token: google,
    comes: { email: 'alice@example.com', isEmailVerified: true },
  },
  {
    says: 'Google, of another organisation',
    entry: hd,
    token: { ...google, hd: 'example.org', email: 'alice@example.org' },
    comes: 'claim_required: another hd',
  },
  {
    says: 'Google, an account that anybody can make',
    entry: hd,
    token: { ...google, hd: undefined, email: 'alice@gmail.com' },
    userinfo: { email: 'alice@gmail.com', email_verified: true },
    comes: 'claim_required: no claim hd',
  },
  {
    says: 'Okta, in a group',
    entry: { required_claim: { name: 'groups', value: 'VPN' } },
    token: okta,
    comes: { email: 'alice@example.com', isEmailVerified: true },
  },
  {
    says: 'Okta, in no such group',
    entry: { required_claim: { name: 'groups', value: 'Admins' } },
    token: okta,
    comes: 'claim_required: another groups',
  },
  {
    says: 'Okta puts the group into userinfo alone',
    entry: { required_claim: { name: 'groups', value: 'VPN' } },
    token: { ...okta, groups: undefined },
    userinfo: { groups: ['VPN'] },
    comes: { email: 'alice@example.com', isEmailVerified: true },
  },
  {
    says: 'Keycloak says false of a user that an administrator made',
    entry: {},
    token: keycloak,
    comes: { email: 'alice@example.com', isEmailVerified: false },
  },
];

for (const { says, entry, token, userinfo, document = {}, comes } of shapes)
  test(says, async (t) => {
    const idp = await openBadProvider(t);
    const database = await openDatabase(t, 'sqlite');
    Object.assign(idp.bent, {
      claims: token,
      document: { id_token_signing_alg_values_supported: ['RS256'], ...document },
      userinfo: { sub: token['sub'] ?? 'subject-1', ...userinfo },
    });
    const provider = oidcEntry({ discovery_document_uri: idp.discoveryUri, ...entry });
    const clients = new OidcClients();
    const redirectUri = redirectUriOf(provider, 'http://127.0.0.1:13000/');
    const context = { database, clients, provider, redirectUri };
    const browserSha256 = 'b'.repeat(64);
    const query = idp.authorize(
      await beginOidc(context, { browserSha256, userId: null, returnTo: null }),
    );
    const signIn = proofOf(finishOidc(context, query, browserSha256));
    if (typeof comes === 'string') {
      const error = await t.throwsAsync(signIn, { instanceOf: ProviderRefusal });
      t.is(error?.message, comes);
    } else t.like((await signIn).account, comes);
  });
