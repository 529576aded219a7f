// No secret of a sign-in is in the log or in the audit trail. People sign in at a real gateway in
// every way, with right and wrong data. The log at its lowest level and the audit trail hold no
// password, code, secret, cookie, token of forms, state, ticket, token or assertion.

import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { Secret, TOTP } from 'otpauth';
import test, { type ExecutionContext } from 'ava';
import {
  type BadProvider,
  CLIENT,
  openBadProvider,
} from '../../support/auth/bad-openid-provider.ts';
import {
  answerXml,
  base64,
  BOTH,
  goodWords,
  idpMetadata,
  requestIn,
  type Signing,
} from '../../support/auth/bad-saml-provider.ts';
import type { WholeGateway } from '../../support/gateway/gateway-process.ts';
import { until } from '../../support/gateway/postern.ts';
import { serveHere } from '../../support/gateway/served-gateway.ts';
import { signOnService } from '../../support/auth/identity-provider.ts';
import { oidcEntry, samlEntry } from '../../support/auth/provider-entries.ts';
import { atGateway, PASSWORD, type Shown, Visitor } from '../../support/web/visitor.ts';

const EMAIL = 'ann.person@example.com';
const MISTYPED = 'mistyped battery horse';
const OTHER_PASSWORD = 'another horse battery';
const CALLBACK = '/auth/oidc/okta/callback/';
const CONSUME = '/auth/saml/sp/consume/saml-idp';

/** Texts that nobody may find, by their kind. */
type Secrets = Map<string, string>;

/** A visitor whose cookies and tokens are all remembered. */
class Watched extends Visitor {
  readonly #secrets: Secrets;

  constructor(gateway: WholeGateway, secrets: Secrets) {
    super(atGateway(gateway.url));
    this.#secrets = secrets;
  }

  override async send(...sent: Parameters<Visitor['send']>): Promise<Shown> {
    const shown = await super.send(...sent);
    for (const [name, value] of this.cookies) this.#secrets.set(value, `the cookie ${name}`);
    if (this.token !== '') this.#secrets.set(this.token, 'a token of forms');
    return shown;
  }
}

/** Runs one part with a new browser. */
type Part = (visitor: Watched, secrets: Secrets) => Promise<void>;

function codeOf(secret: string, steps: number): string {
  const timestamp = Date.now() + steps * 30_000;
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
}

/** Password, second factor, recovery code, another password; and wrong ones of each. */
function locally(t: ExecutionContext): Part {
  return async (visitor, secrets) => {
    for (const one of [PASSWORD, MISTYPED, OTHER_PASSWORD]) secrets.set(one, 'a password');
    t.is((await visitor.signIn(EMAIL, MISTYPED)).status, 401);
    t.is((await visitor.signIn(EMAIL)).status, 303);
    const { text } = await visitor.get('/user_account/register_mfa');
    const [, sealed = ''] = /name="sealed" value="([^"]+)"/.exec(text) ?? [];
    const [, spaced = ''] = /<code>([A-Z2-7 ]+)<\/code>/.exec(text) ?? [];
    const secret = spaced.replaceAll(' ', '');
    const first = codeOf(secret, -1);
    for (const one of [sealed, secret, spaced, first]) secrets.set(one, 'of an enrolment');
    const form = { sealed, name: 'telephone', code: first };
    const enrolled = await visitor.post('/user_account/register_mfa', form);
    const codes = [...enrolled.text.matchAll(/<li><code>([^<]+)</g)].map(([, one = '']) => one);
    t.is(codes.length, 10);
    for (const one of codes) secrets.set(one, 'a recovery code');
    const [recovery = '', spare = ''] = codes;
    const second = codeOf(secret, 0);
    for (const code of ['654321', second, recovery, recovery]) {
      await visitor.post('/sign_out');
      t.is((await visitor.signIn(EMAIL)).location, '/mfa/auth');
      await visitor.get('/mfa/auth');
      secrets.set(code, 'a code');
      await visitor.post('/mfa/auth', { code });
    }
    await visitor.post('/mfa/auth', { code: spare });
    await visitor.get('/user_account');
    const change = { password: OTHER_PASSWORD, password_confirmation: OTHER_PASSWORD };
    const path = '/user_account/change_password';
    t.is((await visitor.post(path, { ...change, current_password: MISTYPED })).status, 422);
    t.is((await visitor.post(path, { ...change, current_password: PASSWORD })).status, 303);
    t.is((await visitor.post(path, { csrf_token: `${visitor.token}x` })).status, 403);
  };
}

/** OpenID: one good sign-in, then one refusal of each kind. */
function byOpenId(t: ExecutionContext, idp: BadProvider): Part {
  return async (visitor, secrets) => {
    const note = (text: string, what: string): string => {
      secrets.set(text, what);
      return text;
    };
    const signIn = async (changes: Record<string, string> = {}): Promise<Shown> => {
      const { location } = await visitor.get('/auth/oidc/okta');
      const query = idp.authorize(location ?? '');
      query.set('code', note(randomBytes(16).toString('hex'), 'the code of OpenID'));
      for (const [name, value] of Object.entries(changes)) query.set(name, note(value, name));
      note(query.get('state') ?? '', 'the state');
      note(new URL(location ?? '').searchParams.get('nonce') ?? '', 'the nonce');
      const shown = await visitor.get(`${CALLBACK}?${query.toString()}`);
      for (const { code_verifier: verifier } of idp.asked) if (verifier) note(verifier, 'of PKCE');
      return shown;
    };
    idp.bent.tokens = (good) => {
      const tokens = {
        access_token: randomBytes(16).toString('hex'),
        refresh_token: randomBytes(16).toString('hex'),
      };
      for (const [name, value] of Object.entries({ ...good, ...tokens }))
        if (name.endsWith('_token')) note(String(value), name);
      return { ...good, ...tokens };
    };
    idp.bent.claims = { email: 'openid.person@example.com' };
    t.is((await signIn()).status, 303);
    idp.bent.claims = { nonce: 'a-nonce-of-another' };
    t.is((await signIn()).status, 502);
    const stranger = { sub: 'stranger-1', email: 'stranger.person@example.com' };
    idp.bent.claims = { ...stranger, email_verified: false };
    t.is((await signIn()).status, 403);
    t.is((await signIn({ state: randomBytes(16).toString('hex') })).status, 403);
    const described = { error: 'access_denied', error_description: 'the-words-of-the-provider' };
    t.is((await signIn(described)).status, 403);
    secrets.delete('access_denied');
    idp.bent.answer = (response) =>
      response.writeHead(400, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          error: 'invalid_grant',
          error_description: 'the-words-of-its-endpoint',
        }),
      );
    note('the-words-of-its-endpoint', 'an error of the token endpoint');
    t.is((await signIn()).status, 403);
    idp.bent.answer = (response) => response.writeHead(200).end('the-garbage-of-the-provider');
    note('the-garbage-of-the-provider', 'an answer of the token endpoint');
    t.is((await signIn()).status, 502);
  };
}

/** SAML: a good answer, the same answer again, and an answer without a signature. */
function bySaml(t: ExecutionContext, gateway: WholeGateway): Part {
  return async (visitor, secrets) => {
    const post = async (fields: Record<string, string>): Promise<Shown> => {
      for (const [name, value] of Object.entries(fields)) secrets.set(value, name);
      return visitor.send('POST', CONSUME, fields);
    };
    const answer = async (signed: Signing): Promise<Record<string, string>> => {
      const { location } = await visitor.get('/auth/saml/auth/signin/saml-idp');
      const { id, query } = requestIn(location ?? '');
      secrets.set(id, 'the id of the request');
      const xml = answerXml(goodWords(id, `${gateway.url}${CONSUME}`), signed);
      const [, signature = ''] = /<(?:\w+:)?SignatureValue>([^<]{40})/.exec(xml) ?? [];
      if (signature !== '') secrets.set(signature, 'a signature');
      return { SAMLResponse: base64(xml), RelayState: query.get('RelayState') ?? '' };
    };
    const good = await answer(BOTH);
    const { location } = await post(good);
    t.regex(location ?? '', /\?ticket=/);
    secrets.set(new URLSearchParams(location?.split('?')[1]).get('ticket') ?? '', 'the ticket');
    t.is((await visitor.get(location ?? '')).status, 303);
    t.is((await post(good)).status, 403, 'used already');
    t.is(
      (await post(await answer({ ...BOTH, assertion: false, response: false }))).status,
      502,
      'signed by nobody',
    );
    t.is((await visitor.get(location ?? '')).status, 403);
  };
}

/** The reasons of refused sign-ins through providers, in the order of the log. */
function refusalsIn(printed: string): string[] {
  return printed
    .split('\n')
    .filter((line) => line.includes('a sign-in through a provider was refused'))
    .map((line) => {
      const { kind, reason } = JSON.parse(line) as { kind: string; reason: string };
      return `${kind} ${reason}`;
    });
}

/** Whether a secret is in a text; a code of digits does not count inside a longer number. */
function isIn(text: string, secret: string): boolean {
  return /^\d+$/.test(secret)
    ? new RegExp(`(?<![\\w.])${secret}(?!\\w)`).test(text)
    : text.includes(secret);
}

/** What anything prints in this process beside the log of the gateway, as long as the test runs. */
function printedAside(t: ExecutionContext): () => string {
  let printed = '';
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream);
    stream.write = ((...given: Parameters<typeof write>) => {
      printed += String(given[0]);
      return write(...given);
    }) as typeof write;
    t.teardown(() => void (stream.write = write));
  }
  return () => printed;
}

/** Why providers' sign-ins of this test are refused, in their order. */
const REFUSALS = [
  'oidc answer_invalid',
  'oidc email_unverified',
  'oidc request_unknown',
  'oidc provider_refused',
  'oidc provider_refused',
  'oidc answer_invalid',
  'saml request_unknown',
  'saml answer_invalid',
  'saml request_unknown',
];

test('after sign-ins of every kind, the log and the audit trail hold no secret', async (t) => {
  t.timeout(120_000);
  const idp = await openBadProvider(t);
  const aside = printedAside(t);
  const gateway = await serveHere(t, { LOG_LEVEL: 'trace', API_RATE_LIMIT: '0' });
  const account = { email: EMAIL, password: PASSWORD, password_confirmation: PASSWORD };
  t.is((await gateway.call('POST', '/v0/users', { user: account })).status, 201);
  const { base_url: _default, ...saml } = samlEntry({ metadata: idpMetadata(signOnService()) });
  const configuration = {
    openid_connect_providers: [oidcEntry({ discovery_document_uri: idp.discoveryUri })],
    saml_identity_providers: [saml],
  };
  t.is((await gateway.call('PATCH', '/v0/configuration', { configuration })).status, 200);
  const secrets: Secrets = new Map([
    [CLIENT.secret, "the client's secret"],
    [gateway.token, 'a token of the API'],
  ]);
  for (const part of [locally(t), byOpenId(t, idp), bySaml(t, gateway)])
    await part(new Watched(gateway, secrets), secrets);

  const all = (): string => gateway.output() + aside();
  await until('every refusal is logged', () => refusalsIn(all()).length >= REFUSALS.length);
  const printed = all();
  t.deepEqual(refusalsIn(printed), REFUSALS, 'it was all logged');
  const audited = await gateway.command('audit', 'list', '--json', '--limit', '500');
  for (const action of ['sign in', 'sign-in refused', 'sign out'])
    t.true(audited.includes(`"${action}"`), action);
  t.true(secrets.size > 60, `${secrets.size} secrets`);
  for (const [secret, what] of secrets) {
    t.true(secret.length >= 6, `${what} is too short to be looked for: ${secret}`);
    t.false(isIn(printed, secret), `${what} is in the log`);
    t.false(isIn(audited, secret), `${what} is in the audit trail`);
  }
  for (const line of printed.split('\n').filter((text) => /person@/i.test(text)))
    t.regex(line, /"level":"(trace|debug)"/, 'an e-mail');
});
