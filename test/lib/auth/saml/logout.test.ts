// Sign-out that a provider begins: only what it signed counts, in an address or in a form.

import { createSign } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { signXml } from '@node-saml/node-saml/lib/xml.js';
import test, { type ExecutionContext } from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import {
  checkAddressedLogout,
  checkPostedLogout,
  logoutAnswer,
} from '../../../../lib/auth/saml/logout.ts';
import { parseSamlMetadata } from '../../../../lib/auth/saml-metadata.ts';
import { addressesOf } from '../../../../lib/auth/saml/service-provider.ts';
import {
  base64,
  ENTITY_ID,
  idpKey,
  idpMetadata,
  otherIdpKey,
  OUR_ENTITY_ID,
} from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const LOGOUT =
  '<SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo"/>';
const provider = samlEntry({ metadata: idpMetadata(signOnService() + LOGOUT) });
const setup = {
  provider,
  metadata: parseSamlMetadata(provider.metadata),
  ours: { entityId: OUR_ENTITY_ID, key: otherIdpKey },
};
const SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

interface Said {
  entityId: string;
  destination: string | null;
  issued: number;
  end: number;
  name: string;
  version: string;
}

function requestXml(changes: Partial<Said> = {}): string {
  const said: Said = {
    entityId: ENTITY_ID,
    destination: addressesOf(provider).logout,
    issued: -1,
    end: 300,
    name: '<a:NameID Format="f">person</a:NameID>',
    version: '2.0',
    ...changes,
  };
  const at = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
  const destination = said.destination === null ? '' : ` Destination="${said.destination}"`;
  return `<p:LogoutRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" ID="_l1" Version="${said.version}" IssueInstant="${at(said.issued)}" NotOnOrAfter="${at(said.end)}"${destination}><a:Issuer>${said.entityId}</a:Issuer>${said.name}</p:LogoutRequest>`;
}

function sign(xml: string, key = idpKey): string {
  const element = "/*[local-name(.)='LogoutRequest']";
  const location = { reference: `${element}/*[local-name(.)='Issuer']`, action: 'after' } as const;
  return signXml(xml, element, location, {
    privateKey: key.privateKey,
    publicCert: key.certificate,
    signatureAlgorithm: 'sha256',
    digestAlgorithm: 'sha256',
  } as Parameters<typeof signXml>[3]);
}

function addressed(xml: string, key = idpKey, algorithm = SHA256): string {
  const fields = new URLSearchParams({
    SAMLRequest: deflateRawSync(xml).toString('base64'),
    RelayState: 'r',
    SigAlg: algorithm,
  }).toString();
  const signature = createSign('sha256').update(fields).sign(key.privateKey, 'base64');
  return `${fields}&Signature=${encodeURIComponent(signature)}`;
}

const post = (xml: string) => checkPostedLogout(setup, base64(xml), new Date());
const send = (query: string) => checkAddressedLogout(setup, query, new Date());

async function refusal(t: ExecutionContext, work: Promise<unknown>): Promise<string> {
  const error = await t.throwsAsync(work, { instanceOf: ProviderRefusal });
  return error?.message ?? '';
}

test('a signed request names the user, in a form and in an address', async (t) => {
  const asked = { id: '_l1', nameId: 'person', nameIdFormat: 'f', sessionIndexes: ['s1', 's2'] };
  const name = `<a:NameID Format="f">person</a:NameID><p:SessionIndex>s1</p:SessionIndex><p:SessionIndex>s2</p:SessionIndex>`;
  const xml = requestXml({ name });
  const issued = Date.parse(/IssueInstant="([^"]+)"/.exec(xml)?.[1] ?? '');
  // Clocks may differ by a minute.
  const meant = { ...asked, meansBefore: new Date(issued + 60_000) };
  t.deepEqual(await post(sign(xml)), meant);
  t.deepEqual(await send(addressed(xml)), meant);
  t.deepEqual((await post(sign(requestXml()))).sessionIndexes, []);
});

test('a request without a good signature is refused', async (t) => {
  t.regex(await refusal(t, post(requestXml())), /the request is not signed/);
  t.regex(await refusal(t, post(sign(requestXml(), otherIdpKey))), /signature/);
  const changed = sign(requestXml()).replace('>person<', '>other<');
  t.regex(await refusal(t, post(changed)), /signature/);
  const query = addressed(requestXml());
  t.regex(await refusal(t, send(addressed(requestXml(), otherIdpKey))), /signature/);
  t.regex(await refusal(t, send(query.replace('RelayState=r', 'RelayState=s'))), /signature/);
  t.regex(await refusal(t, send(query.replace(/&Signature=.*/, ''))), /the request is not signed/);
  t.regex(await refusal(t, send(query.replace(/&SigAlg=[^&]*/, ''))), /algorithm/);
  const weak = addressed(requestXml(), idpKey, 'http://www.w3.org/2000/09/xmldsig#rsa-sha1');
  t.regex(await refusal(t, send(weak)), /algorithm/);
});

test('a second field of the same name is refused, whichever is signed', async (t) => {
  const query = addressed(requestXml());
  const [, evil = ''] = /SAMLRequest=([^&]*)/.exec(addressed(requestXml({ name: '<x/>' }))) ?? [];
  for (const twice of [`${query}&SAMLRequest=${evil}`, `SAMLRequest=${evil}&${query}`])
    t.regex(await refusal(t, send(twice)), /SAMLRequest is there twice/);
});

const lies: [says: string, said: Partial<Said>, why: RegExp][] = [
  ['another issuer', { entityId: 'urn:other' }, /Issuer/],
  ['another destination', { destination: 'https://other.example/' }, /Destination/],
  ['no destination', { destination: null }, /Destination/],
  ['a request of yesterday', { issued: -86_400 }, /time/],
  ['a request of tomorrow', { issued: 86_400 }, /time/],
  ['a request that ended', { end: -61 }, /time|signature/],
  ['no name', { name: '' }, /NameID|signature/],
  ['two names', { name: '<a:NameID>a</a:NameID><a:NameID>b</a:NameID>' }, /NameID|signature/],
  ['an encrypted name', { name: '<a:EncryptedID/>' }, /NameID|signature/],
  ['another version', { version: '1.1' }, /version/],
];
for (const [says, said, why] of lies)
  test(`refused: ${says}`, async (t) => {
    t.regex(await refusal(t, send(addressed(requestXml(said)))), why);
    t.regex(await refusal(t, post(sign(requestXml(said)))), why);
  });

test('a text that is no request, not deflated or too large when inflated is refused', async (t) => {
  t.regex(await refusal(t, send(addressed('<x/>'))), /not a LogoutRequest/);
  const raw = new URLSearchParams({ SAMLRequest: base64(requestXml()), SigAlg: SHA256 }).toString();
  const signature = createSign('sha256').update(raw).sign(idpKey.privateKey, 'base64');
  const plain = `${raw}&Signature=${encodeURIComponent(signature)}`;
  t.regex(await refusal(t, send(plain)), /not deflated/);
  t.regex(await refusal(t, send(addressed(' '.repeat(600_000)))), /not deflated/);
});

test('the answer is signed, names the request, and goes to the address of the provider', async (t) => {
  const address = (await logoutAnswer(setup, { id: '_l1' }, 'r', '_answer')) ?? '';
  t.true(address.startsWith('https://idp.example/slo?SAMLResponse='));
  const query = new URL(address).searchParams;
  t.is(query.get('RelayState'), 'r');
  t.truthy(query.get('Signature'));
  const xml = inflateRawSync(Buffer.from(query.get('SAMLResponse') ?? '', 'base64')).toString();
  t.regex(xml, /InResponseTo="_l1"/);
  t.regex(xml, /status:Success/);
  const without = { ...setup, metadata: { ...setup.metadata, logoutUrls: {} } };
  t.is(await logoutAnswer(without, { id: '_l1' }, 'r', '_answer'), null);
});
