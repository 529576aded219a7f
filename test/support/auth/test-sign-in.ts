// A test sign-in through SAML as an administrator's browser makes it, with a provider that says
// whatever the test wants.

import type { SamlIdentityProvider } from '../../../models/index.ts';
import {
  answerXml,
  base64,
  BOTH,
  goodWords,
  idpMetadata,
  requestIn,
  type Said,
  type Signing,
} from './bad-saml-provider.ts';
import { signOnService } from './identity-provider.ts';
import { configure } from '../web/portal.ts';
import { samlEntry } from './provider-entries.ts';
import type { TestServer } from '../api/server.ts';
import { type Shown, Visitor } from '../web/visitor.ts';

/** The page of the entry. */
export const ENTRY = '/settings/providers/saml/saml-idp';
/** Where the provider's answer is posted. */
export const CONSUME = '/auth/saml/sp/consume/saml-idp';

/** Gives the gateway the entry. */
export async function addSamlEntry(
  server: TestServer,
  changes: Partial<SamlIdentityProvider> = {},
): Promise<void> {
  const { base_url: _default, ...entry } = samlEntry({
    metadata: idpMetadata(signOnService()),
    ...changes,
  });
  await configure(server, { saml_identity_providers: [entry] });
}

/** What the browser takes to the provider. */
export interface Begun {
  readonly id: string;
  readonly relayState: string;
}

/** Presses “Test sign-in”. */
export async function beginTest(admin: Visitor): Promise<Begun> {
  await admin.get(ENTRY);
  const page = await admin.post(`${ENTRY}/test`);
  return begunBy(page);
}

/** What a page or a redirect that leads to the provider says. */
export function begunBy({ headers, location, status, text }: Shown): Begun {
  const [, address = location ?? ''] = /^0;url=(.+)$/.exec(String(headers['refresh'])) ?? [];
  if (address === '') throw new Error(`${status}: ${text}`);
  const { id, query } = requestIn(address);
  return { id, relayState: query.get('RelayState') ?? '' };
}

/** The form of the provider's page. */
export function answerTo(
  { id, relayState }: Begun,
  said: Partial<Said> = {},
  signing: Partial<Signing> = {},
): Record<string, string> {
  const words = { ...goodWords(id, `http://127.0.0.1:13000${CONSUME}`), ...said };
  const xml = answerXml(words, { ...BOTH, ...signing }, said.status === undefined ? undefined : '');
  return { SAMLResponse: base64(xml), RelayState: relayState };
}

/** Posts as the provider's page does: from another site, with no cookies where there is no https. */
export function postAnswer(
  server: Pick<TestServer, 'server'>,
  fields: Record<string, string>,
  path = CONSUME,
): Promise<Shown> {
  const page = new Visitor(server);
  page.headers = { ...page.headers, origin: 'https://idp.example', 'sec-fetch-site': 'cross-site' };
  return page.send('POST', path, fields);
}
