// The addresses at which SAML providers sign people out accept requests without a token and without
// a state. Only the provider ends a session of its people: no unsigned, forged or replayed request
// does, no frame, no other provider, and no flood of bytes.

import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import {
  base64,
  BOTH,
  goodWords,
  idpKey,
  idpMetadata,
  otherIdpKey,
  answerXml,
  sign,
} from '../support/auth/bad-saml-provider.ts';
import { signOnService } from '../support/auth/identity-provider.ts';
import { configure } from '../support/web/portal.ts';
import { samlEntry } from '../support/auth/provider-entries.ts';
import {
  addressedLogout,
  logoutXml,
  type LogoutSaid,
  postedLogout,
  signedQuery,
} from '../support/auth/saml-logout.ts';
import { openServer } from '../support/api/server.ts';
import { answerTo, begunBy, CONSUME, postAnswer } from '../support/auth/test-sign-in.ts';
import { atGateway, Visitor } from '../support/web/visitor.ts';

const NAME = 'person@example.com';
const LOGOUT = '/auth/saml/sp/logout/saml-idp';
const HOME = 'http://127.0.0.1:13000';
const good: LogoutSaid = { destination: HOME + LOGOUT, name: NAME, index: null };
const OTHER_ID = 'https://other-idp.example/metadata';

/** A gateway that listens, and a person who signed in through the provider. */
async function open(t: ExecutionContext) {
  const server = await openServer(t, 'sqlite over a socket', { API_RATE_LIMIT: '0' });
  const { base_url: _default, ...entry } = samlEntry({ metadata: idpMetadata(signOnService()) });
  const other = {
    ...entry,
    id: 'other-idp',
    metadata: idpMetadata(signOnService(), { entityId: OTHER_ID, key: otherIdpKey }),
  };
  await configure(server, { saml_identity_providers: [entry, other] });
  const gateway = atGateway(server.server.info.uri);
  const stranger = () => new Visitor(gateway);
  const person = stranger();
  const signIn = async (visitor: Visitor): Promise<void> => {
    const begun = begunBy(await visitor.get('/auth/saml/auth/signin/saml-idp'));
    const { location } = await postAnswer(gateway, answerTo(begun));
    t.is((await visitor.get(location ?? '')).status, 303);
  };
  await signIn(person);
  const isIn = async (): Promise<boolean> => (await person.get('/user_account')).status === 200;
  const post = (SAMLRequest: string, path = LOGOUT) => postAnswer(gateway, { SAMLRequest }, path);
  return { server, gateway, stranger, person, signIn, isIn, post };
}

test('a request with the signature of the provider signs out, and only its own people', async (t) => {
  const { stranger, isIn } = await open(t);
  const others = addressedLogout({ ...good, name: 'other@example.com' });
  t.is((await stranger().get(`${LOGOUT}?${others}`)).status, 303);
  t.true(await isIn());
  t.is((await stranger().get(`${LOGOUT}?${addressedLogout(good)}`)).status, 303);
  t.false(await isIn(), 'so the attacks below do not fail for another reason');
});

test('an unsigned request ends no session of another person', async (t) => {
  const { stranger, isIn, post } = await open(t);
  const xml = logoutXml(good);
  const query = new URLSearchParams({ SAMLRequest: deflateRawSync(xml).toString('base64') });
  t.is((await stranger().get(`${LOGOUT}?${query.toString()}`)).status, 403);
  const posted = await post(base64(xml));
  t.is(posted.status, 303, 'led to an address of ours');
  t.is((await stranger().get(posted.location ?? '')).status, 403);
  t.is((await stranger().get(`${LOGOUT}?unverified`)).status, 403);
  t.true(await isIn());
});

test('a forged request ends nothing', async (t) => {
  const { stranger, isIn, post } = await open(t);
  const query = addressedLogout(good);
  const innocent = addressedLogout({ ...good, name: 'other@example.com' });
  const valueIn = (text: string, name: string) => new URLSearchParams(text).get(name) ?? '';
  const withValue = (text: string, name: string, value: string): string => {
    const fields = new URLSearchParams(text);
    fields.set(name, value);
    return fields.toString();
  };
  const asked = `SAMLRequest=${encodeURIComponent(valueIn(query, 'SAMLRequest'))}`;
  const addresses = {
    "somebody else's key": addressedLogout(good, otherIdpKey),
    'a signature over another request': withValue(
      innocent,
      'SAMLRequest',
      valueIn(query, 'SAMLRequest'),
    ),
    'the request twice': `${asked}&${innocent}`,
    'no signature': withValue(query, 'Signature', ''),
    'no algorithm': withValue(query, 'SigAlg', ''),
    'SHA-1': withValue(query, 'SigAlg', 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'),
    HMAC: withValue(query, 'SigAlg', 'http://www.w3.org/2000/09/xmldsig#hmac-sha1'),
    'a relay state that was not signed': `${query}&RelayState=x`,
  };
  for (const [says, text] of Object.entries(addresses))
    t.is((await stranger().get(`${LOGOUT}?${text}`)).status, 403, says);
  const innocentXml = sign(
    logoutXml({ ...good, name: 'other@example.com' }),
    'LogoutRequest',
    BOTH,
  );
  const answer = answerXml(goodWords('_r', HOME + CONSUME));
  const forms = {
    "somebody else's key": postedLogout(good, otherIdpKey),
    'another name in what was signed': base64(innocentXml.replace('other@example.com', NAME)),
    'the signed part is inside': base64(
      logoutXml(good).replace('</p:LogoutRequest>', `${innocentXml}</p:LogoutRequest>`),
    ),
    'an answer to a sign-in': base64(answer),
    'a comment in the name': base64(innocentXml.replace('other@', 'other<!-- -->@')),
  };
  for (const [says, text] of Object.entries(forms)) {
    const { status, location } = await post(text);
    t.deepEqual([status, location], [303, `${LOGOUT}?unverified`], says);
  }
  t.true(await isIn());
});

test('a request that is captured and sent again ends no session that began since', async (t) => {
  const { stranger, person, signIn, isIn, post } = await open(t);
  // A minute and a half ago: less than the limit for requests, more than clocks may differ.
  const issuedAt = new Date(Date.now() - 90_000);
  const seen = { ...good, issuedAt };
  await signIn(person);
  t.is((await stranger().get(`${LOGOUT}?${addressedLogout(seen)}`)).status, 303);
  t.is((await post(postedLogout(seen))).status, 303);
  t.true(await isIn());
  const old = { ...good, issuedAt: new Date(Date.now() - 7 * 60_000) };
  t.is((await stranger().get(`${LOGOUT}?${addressedLogout(old)}`)).status, 403);
  t.true(await isIn());
});

test('in a frame, where no cookie is sent, an unsigned request ends nothing and shows nothing', async (t) => {
  const { person, stranger, isIn } = await open(t);
  const framed = stranger();
  framed.headers = {
    ...framed.headers,
    'sec-fetch-dest': 'iframe',
    'sec-fetch-site': 'cross-site',
  };
  const query = new URLSearchParams({
    SAMLRequest: deflateRawSync(logoutXml(good)).toString('base64'),
  });
  const page = await framed.get(`${LOGOUT}?${query.toString()}`);
  t.is(page.status, 403);
  t.is(page.headers['x-frame-options'], 'DENY');
  t.regex(String(page.headers['content-security-policy']), /frame-ancestors 'none'/);
  t.true(await isIn());
  t.true(person.cookies.size > 0);
});

test('another provider signs out nobody of this one', async (t) => {
  const { stranger, isIn, post } = await open(t);
  const there = '/auth/saml/sp/logout/other-idp';
  const theirs = { ...good, destination: HOME + there, issuer: OTHER_ID };
  // At its own address it may sign out its own people: there the same name is another person.
  t.is((await stranger().get(`${there}?${addressedLogout(theirs, otherIdpKey)}`)).status, 303);
  t.is((await post(postedLogout(theirs, otherIdpKey), there)).status, 303);
  for (const [says, path, said, key] of [
    ['its words at the other door', LOGOUT, theirs, otherIdpKey],
    ['its key at the other door', LOGOUT, good, otherIdpKey],
    ["the other's name at its own door", there, { ...theirs, issuer: undefined }, otherIdpKey],
    ["the other's request at its own door", there, good, idpKey],
  ] as const) {
    const { issuer = good.issuer, ...rest } = said;
    const sent = issuer === undefined ? rest : { ...rest, issuer };
    t.is((await stranger().get(`${path}?${addressedLogout(sent, key)}`)).status, 403, says);
  }
  t.is((await stranger().get('/auth/saml/sp/logout/none?SAMLRequest=x')).status, 404);
  t.true(await isIn());
});

test('a flood of bytes is refused, and the API answers meanwhile', async (t) => {
  const { server, stranger, isIn, post } = await open(t);
  t.is((await post('A'.repeat(400_000))).status, 413);
  const bomb = deflateRawSync(Buffer.alloc(64 * 1_048_576));
  t.true(bomb.length > 60_000, 'longer than an address may be');
  const small = deflateRawSync(Buffer.alloc(4 * 1_048_576));
  // Nothing larger than a message is inflated, not even with the signature of the provider.
  t.is((await stranger().get(`${LOGOUT}?${signedQuery(small)}`)).status, 403);
  const sent = Array.from({ length: 150 }, (_, i) =>
    i % 2 === 0
      ? post(randomBytes(90_000).toString('base64'))
      : stranger().get(
          `${LOGOUT}?SAMLRequest=${encodeURIComponent(randomBytes(4_000).toString('base64'))}`,
        ),
  );
  const statuses = new Set((await Promise.all(sent)).map(({ status }) => status));
  t.deepEqual(
    [...statuses].filter((status) => ![303, 403, 408, 413, 429, 503].includes(status)),
    [],
  );
  t.is((await fetch(`${server.server.info.uri}/healthz`)).status, 200);
  t.true(await isIn());
});
