// Trying a provider: each error is named, nobody is signed in, and nothing is thrown.

import test from 'ava';
import { randomBytes } from 'node:crypto';
import type { Finding } from '../../../../lib/auth/identity/finding.ts';
import { tryOidcProvider, trySamlProvider } from '../../../../lib/auth/identity/try-provider.ts';
import { makeCertificate } from '../../../../lib/auth/saml/certificate.ts';
import { type BadProvider, openBadProvider } from '../../../support/auth/bad-openid-provider.ts';
import { idpMetadata } from '../../../support/auth/bad-saml-provider.ts';
import {
  federation,
  samlMetadata,
  signOnService,
} from '../../../support/auth/identity-provider.ts';
import { openMetadataAddress, status } from '../../../support/auth/metadata-address.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';

const EXTERNAL_URL = 'http://127.0.0.1:13000/';
// One test waits for the time limit; in a busy process the others need a few of its seconds.
const limits = { timeoutMs: 10_000, bytesMax: 50_000 };
const JSON_TYPE = { 'content-type': 'application/json' };

function lines(findings: Finding[]): string[] {
  return findings.map(({ verdict, text }) => `${verdict}: ${text}`);
}

function tryIt({ discoveryUri }: BadProvider): Promise<Finding[]> {
  const entry = oidcEntry({ discovery_document_uri: discoveryUri });
  return tryOidcProvider(entry, EXTERNAL_URL, limits);
}

function answerWith(idp: BadProvider, status: number, error: string): void {
  idp.bent.answer = (response) =>
    void response.writeHead(status, JSON_TYPE).end(JSON.stringify({ error }));
}

test('a good OpenID provider passes, and the answer shows our address', async (t) => {
  const idp = await openBadProvider(t);
  answerWith(idp, 400, 'invalid_grant');
  t.deepEqual(lines(await tryIt(idp)), [
    'good: The discovery document is there and complete.',
    'doubtful: The provider is asked over http: anybody on the way can read the secrets.',
    'good: Its signing keys are there.',
    'good: The provider knows the client.',
    'good: Signing out here signs out at the provider too; it leads back to http://127.0.0.1:13000/',
    'good: The provider must allow this redirect address: http://127.0.0.1:13000/auth/oidc/okta/callback/',
  ]);
});

const errors: [says: string, bend: (idp: BadProvider) => void, finding: RegExp][] = [
  [
    'a wrong secret',
    (idp) => answerWith(idp, 401, 'invalid_client'),
    /^bad: The provider does not know the client/,
  ],
  [
    'a token endpoint that is away',
    (idp) => (idp.bent.answer = (response) => void response.writeHead(503).end()),
    /^doubtful: .*status 503/,
  ],
  ['a slow token endpoint', (idp) => (idp.bent.answer = () => undefined), /^doubtful: .*time-out/],
  ['any code', () => undefined, /^bad: The provider accepts a code that it never gave/],
  [
    'keys that are away',
    (idp) => (idp.bent.document = { jwks_uri: 'http://127.0.0.1:9/keys' }),
    /^bad: Its signing keys/,
  ],
  [
    'no keys',
    (idp) => (idp.bent.document = { jwks_uri: `${idp.origin}/userinfo` }),
    /^bad: It publishes no signing key/,
  ],
  [
    'another flow',
    (idp) => (idp.bent.document = { response_types_supported: ['id_token'] }),
    /^bad: .*authorization code flow/,
  ],
  [
    'another post-logout address',
    (idp) => (idp.bent.document = { end_session_endpoint: `${idp.origin}/none` }),
    /^doubtful: .*status 404: it must allow this post-logout address: http:\/\/127\.0\.0\.1:13000\/$/,
  ],
  [
    'a sign-out that is away',
    (idp) => (idp.bent.document = { end_session_endpoint: 'http://127.0.0.1:9/end' }),
    /^doubtful: The end-session endpoint cannot be reached/,
  ],
  [
    'no such claim',
    (idp) => (idp.bent.document = { claims_supported: ['sub', 'upn'] }),
    /^doubtful: The provider does not mention the claim email/,
  ],
  [
    'the tenants of everybody',
    (idp) => (idp.bent.document = { issuer: `${idp.origin}/{tenantid}/v2.0` }),
    /^bad: .*the id of your own tenant/,
  ],
  [
    'offline access that is not asked for',
    (idp) => (idp.bent.document = { scopes_supported: ['openid', 'email', 'offline_access'] }),
    /^doubtful: The scope lacks offline_access/,
  ],
  [
    'weak PKCE',
    (idp) => (idp.bent.document = { code_challenge_methods_supported: ['plain'] }),
    /^doubtful: .*S256/,
  ],
  [
    'no e-mail',
    (idp) => (idp.bent.document = { scopes_supported: ['openid'] }),
    /^doubtful: .*scope email/,
  ],
  [
    'no refresh',
    (idp) => (idp.bent.document = { grant_types_supported: ['authorization_code'] }),
    /^doubtful: .*refresh/,
  ],
  [
    'no end of sessions',
    (idp) => (idp.bent.document = { end_session_endpoint: undefined }),
    /^doubtful: .*end-session/,
  ],
  [
    'a bad document',
    (idp) => (idp.bent.document = { issuer: 7 }),
    /^bad: .*its issuer is no address/,
  ],
];
for (const [says, bend, finding] of errors)
  test(`found: ${says}`, async (t) => {
    const idp = await openBadProvider(t);
    bend(idp);
    const found = lines(await tryIt(idp));
    t.true(
      found.some((line) => finding.test(line)),
      found.join('\n'),
    );
  });

test('a test finds the method that the provider takes, and blames what is wrong alone', async (t) => {
  const idp = await openBadProvider(t);
  idp.bent.takes = 'client_secret_post';
  idp.bent.tokens = () => ({});
  const found = async (changes: object = {}) => {
    const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri, ...changes });
    return lines(await tryOidcProvider(entry, EXTERNAL_URL, limits)).join('\n');
  };
  const wrong = await found({ client_secret: 'wrong' });
  t.regex(
    wrong,
    /^bad: The provider does not know the client: look at client_id and client_secret\. It says: “.*client_secret_post: secret mismatch”$/m,
  );
  idp.bent.answer = (response, request) => {
    const isInBody = request.headers.authorization === undefined;
    const error = isInBody ? 'invalid_grant' : 'invalid_client';
    response.writeHead(isInBody ? 400 : 401, { ...JSON_TYPE, 'www-authenticate': 'Basic' });
    response.end(JSON.stringify({ error, error_description: 'use the body' }));
  };
  t.regex(await found(), /^good: The provider knows the client\.$/m);
  idp.bent.document = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
  t.regex(
    await found(),
    /^good: The provider knows the client\. The provider takes the secret by client_secret_post, which/m,
  );
  t.regex(
    await found({ token_endpoint_auth_method: 'client_secret_basic' }),
    /^bad: The provider knows the client by client_secret_post, not by client_secret_basic: name client_secret_post in token_endpoint_auth_method, or leave it out\. It says: “use the body”$/m,
  );
  answerWith(idp, 401, 'invalid_client');
  idp.bent.document = { token_endpoint_auth_methods_supported: ['private_key_jwt'] };
  t.regex(
    await found(),
    /^bad: The provider does not take the client, and offers neither client_secret_basic nor client_secret_post/m,
  );
});

test('a claim that dots lead to is mentioned by the object that holds it', async (t) => {
  const idp = await openBadProvider(t);
  idp.bent.document = { claims_supported: ['sub', 'email', 'realm_access'] };
  const required_claim = { name: 'realm_access.roles', value: 'vpn' };
  const entry = oidcEntry({ discovery_document_uri: idp.discoveryUri, required_claim });
  const found = lines(await tryOidcProvider(entry, EXTERNAL_URL, limits));
  t.true(found.includes('good: The provider mentions the claim realm_access.roles.'));
});

test('a provider that cannot be reached is named, and our address is shown', async (t) => {
  const found = lines(await tryOidcProvider(oidcEntry(), EXTERNAL_URL));
  t.regex(found[0] ?? '', /^bad: The identity provider cannot be reached/);
  t.is(found.length, 2);
});

test('a good SAML provider passes', async (t) => {
  const metadata = idpMetadata(signOnService());
  const entry = samlEntry({ metadata, signed_envelopes_in_resp: false });
  const found = lines(await trySamlProvider(entry));
  t.true(
    found.every((line) => line.startsWith('good')),
    found.join('\n'),
  );
  t.true(found.some((line) => line.includes('/auth/saml/sp/consume/saml-idp')));
});

test('of several providers the report asks for entity_id', async (t) => {
  const metadata = federation('urn:a', 'urn:b');
  const found = lines(await trySamlProvider(samlEntry({ metadata }))).join('\n');
  t.regex(found, /^good: The metadata are those of urn:a;/m);
  t.regex(
    found,
    /^doubtful: The metadata describe 2 .* Name the one of your people in entity_id\.$/m,
  );
  const named = samlEntry({ metadata, entity_id: 'urn:b' });
  const clear = lines(await trySamlProvider(named)).join('\n');
  t.regex(clear, /^good: The metadata are those of urn:b;/m);
  t.notRegex(clear, /entity_id/);
});

test('the report says what must be signed, and doubts it where many providers sign less', async (t) => {
  const metadata = idpMetadata(signOnService());
  const findingsOf = async (ofAssertion: boolean, ofResponse: boolean) => {
    const entry = samlEntry({
      metadata,
      signed_assertion_in_resp: ofAssertion,
      signed_envelopes_in_resp: ofResponse,
    });
    return lines(await trySamlProvider(entry)).join('\n');
  };
  t.regex(await findingsOf(true, true), /^doubtful: Response and assertion must both be signed/m);
  t.regex(await findingsOf(true, false), /^good: The assertion must be signed/m);
  t.regex(await findingsOf(false, true), /^good: The response must be signed/m);
  t.regex(await findingsOf(false, false), /^doubtful: No flag asks for a signature\. One that/m);
});

test('the metadata address of a SAML provider is used before the metadata of the entry', async (t) => {
  const metadata = idpMetadata(signOnService());
  const address = await openMetadataAddress(t, metadata);
  const tried = async (changes: object) =>
    lines(await trySamlProvider(samlEntry({ metadata_url: address.url, ...changes }))).join('\n');
  t.regex(await tried({}), /^good: The metadata were fetched from their address/);
  t.regex(await tried({ metadata }), /^good: The metadata are those of/m);
  address.serve(status(404));
  t.regex(
    await tried({}),
    /^bad: The document at the metadata address cannot be used.* status 404\.\ngood: The provider must know/,
  );
  t.regex(
    await tried({ metadata }),
    /^doubtful: The document at the metadata address cannot be used.*\ngood: The metadata are those of/,
  );
});

test('errors in SAML metadata and in certificates are named', async (t) => {
  const first = async (metadata: string, now?: Date) =>
    lines(await trySamlProvider(samlEntry({ metadata }), now)).join('\n');
  t.regex(await first('<html/>'), /^bad: .*does not describe an identity provider/);
  t.regex(await first(samlMetadata()), /^bad: .*no RSA key/m);
  const key = await makeCertificate(new Date('2000-01-01'), randomBytes(8).fill(1, 0, 1));
  const aged = idpMetadata(signOnService(), { key });
  t.regex(await first(aged, new Date('2019-12-20')), /^doubtful: .*expires on 2020-01-01/m);
  t.regex(await first(aged, new Date('2026-01-01')), /^doubtful: .*expired on 2020-01-01/m);
  const wanting = idpMetadata(signOnService(), { wants: ' WantAuthnRequestsSigned="1"' });
  const entry = samlEntry({
    metadata: wanting,
    sign_requests: false,
    signed_assertion_in_resp: false,
    signed_envelopes_in_resp: false,
  });
  const found = lines(await trySamlProvider(entry)).join('\n');
  t.regex(found, /wants signed requests/);
  t.regex(found, /No flag asks for a signature/);
});
