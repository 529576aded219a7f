// SAML metadata: what sign-in needs of it, and what is refused, attacks among it.

import test from 'ava';
import {
  entityIdsIn,
  METADATA_CHARACTERS_MAX,
  parseSamlMetadata,
  samlMetadataError,
} from '../../../lib/auth/saml-metadata.ts';
import { CERTIFICATE, samlMetadata, signOnService } from '../../support/auth/identity-provider.ts';

const noProvider = 'it does not describe an identity provider of SAML 2.0';
const noAddress = 'it has no SSO address (http or https) for HTTP-Redirect or HTTP-POST';
const noCertificate = 'it has no signing certificate';
const badCertificate = 'its signing certificate cannot be read';
const badXml = 'it is not well-formed XML';
const doctype = 'it has a DOCTYPE, which is not allowed';

test('what sign-in needs is read', (t) => {
  const services =
    signOnService('SOAP', 'https://idp.example/soap') +
    signOnService('HTTP-POST', ' https://idp.example/post?a=1&amp;b=2 ') +
    signOnService() +
    signOnService().replaceAll('SingleSignOnService', 'SingleLogoutService');
  const text = samlMetadata({ services, use: '' });
  t.deepEqual(parseSamlMetadata(text), {
    entityId: 'https://idp.example/metadata',
    signOnUrls: {
      post: 'https://idp.example/post?a=1&b=2',
      redirect: 'https://idp.example/sso',
    },
    logoutUrls: { redirect: 'https://idp.example/sso' },
    signingCertificates: [CERTIFICATE],
    wantsSignedRequests: false,
    validUntil: null,
  });
  const wants = text.replace('<IDPSSODescriptor', '<IDPSSODescriptor WantAuthnRequestsSigned="1"');
  t.true(parseSamlMetadata(wants).wantsSignedRequests);
});

const entity = (text: string): string => text.replace(/<\?.*\?>/, '');
const good: [says: string, text: string][] = [
  ['space around it', `\r\n ${samlMetadata()}\n\n`],
  [
    'a certificate in lines',
    samlMetadata({
      certificate: `<d:X509Certificate>\n${CERTIFICATE.slice(0, 64)}\n${CERTIFICATE.slice(64)}\n</d:X509Certificate>`,
    }),
  ],
  [
    'an address of http',
    samlMetadata({ services: signOnService('HTTP-POST', 'http://10.0.0.1/') }),
  ],
  [
    'a federation',
    `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${
      entity(samlMetadata({ root: 'SPSSODescriptor' })) + entity(samlMetadata())
    }</EntitiesDescriptor>`,
  ],
];
for (const [says, text] of good) test(`taken: ${says}`, (t) => t.is(samlMetadataError(text), null));

const group = (...members: string[]): string =>
  `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${members.map(entity).join('')}</EntitiesDescriptor>`;
const named = (entityId: string, parts: object = {}): string =>
  samlMetadata({ entityId, ...parts });

test('of several providers the wanted one is read, wherever it is; else the first', (t) => {
  const inner = group(named('urn:c'), group(named('urn:d'), named('urn:e')));
  const text = group(
    samlMetadata({ root: 'SPSSODescriptor' }),
    inner,
    named('urn:a'),
    named('urn:b'),
  );
  const ids = ['urn:a', 'urn:b', 'urn:c', 'urn:d', 'urn:e'];
  t.is(parseSamlMetadata(text).entityId, 'urn:a', 'as before groups in groups were read');
  t.deepEqual(parseSamlMetadata(text).entityIds, ids);
  t.deepEqual(entityIdsIn(text), ids);
  for (const id of ids) t.is(parseSamlMetadata(text, id).entityId, id);
  t.is(
    samlMetadataError(text, 'urn:x'),
    'it does not describe urn:x, which entity_id names, but urn:a, urn:b, urn:c, urn:d, urn:e',
  );
  t.is(
    samlMetadataError(named('urn:a'), 'urn:x'),
    'it does not describe urn:x, which entity_id names, but urn:a',
  );
  t.is(parseSamlMetadata(named('urn:a'), 'urn:a').entityIds, undefined, 'there is one alone');
  t.is(parseSamlMetadata(group(named('urn:a'), named('urn:a'))).entityIds, undefined);
  t.deepEqual(entityIdsIn('no XML'), []);
  const many = group(...Array.from({ length: 25 }, (_, i) => named(`urn:${i}`)));
  t.regex(samlMetadataError(many, 'urn:x') ?? '', /urn:19, and 5 more$/);
});

test('a wanted provider is read though others are of no use', (t) => {
  const text = group(named('urn:a', { certificate: '' }), named('urn:b'));
  t.is(samlMetadataError(text), noCertificate);
  t.is(parseSamlMetadata(text, 'urn:b').entityId, 'urn:b');
});

test('a provider of SAML 1.1 alone hides none of SAML 2.0', (t) => {
  const old = named('urn:old', { protocol: 'urn:oasis:names:tc:SAML:1.1:protocol' });
  t.is(parseSamlMetadata(group(old, named('urn:a'))).entityId, 'urn:a');
  t.is(parseSamlMetadata(group(old, named('urn:a'))).entityIds, undefined);
  const both = named('urn:a').replace(
    '<IDPSSODescriptor',
    '<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol"/><IDPSSODescriptor',
  );
  t.is(parseSamlMetadata(both).entityId, 'urn:a');
});

test('the end of a group counts for all in it, in groups inside it too', (t) => {
  const text = group(group(named('urn:a')), named('urn:b')).replace(
    '<EntitiesDescriptor',
    '<EntitiesDescriptor validUntil="2030-01-01T00:00:00Z"',
  );
  for (const id of ['urn:a', 'urn:b'])
    t.is(parseSamlMetadata(text, id).validUntil, Date.parse('2030-01-01T00:00:00Z'));
});

test('a certificate may be the lines of a PEM file', (t) => {
  const pem = `-----BEGIN CERTIFICATE-----\n${CERTIFICATE}\n-----END CERTIFICATE-----\n`;
  const certificate = `<d:X509Certificate>${pem}</d:X509Certificate>`;
  t.deepEqual(parseSamlMetadata(samlMetadata({ certificate })).signingCertificates, [CERTIFICATE]);
});

test('a certificate that cannot be read is named and left out beside a good one', (t) => {
  const x509 = (text: string): string => `<d:X509Certificate>${text}</d:X509Certificate>`;
  const certificate = x509('bm8=') + x509(CERTIFICATE) + x509('');
  const read = parseSamlMetadata(samlMetadata({ certificate }));
  t.deepEqual(read.signingCertificates, [CERTIFICATE]);
  t.deepEqual(read.unreadable, ['signing certificate 1 of 3', 'signing certificate 3 of 3']);
});

const bomb = `<!DOCTYPE x [<!ENTITY a "aaaa">${Array.from(
  { length: 30 },
  (_, i) => `<!ENTITY a${i + 1} "&a${i || ''};&a${i || ''};">`,
).join('')}]>`;
const bad: [says: string, text: string, error: string][] = [
  ['no XML', 'metadata', badXml],
  ['nothing but space', '  ', badXml],
  ['an end that is missing', samlMetadata().replace('</EntityDescriptor>', ''), badXml],
  ['two roots', `${samlMetadata()}<x/>`, badXml],
  ['an unknown entity', samlMetadata({ entityId: '&secret;' }), badXml],
  ['a page', '<html><body>Sign in</body></html>', noProvider],
  ['a service provider', samlMetadata({ root: 'SPSSODescriptor' }), noProvider],
  [
    'an identity provider of SAML 1.1',
    samlMetadata({ protocol: 'urn:oasis:names:tc:SAML:1.1:protocol' }),
    noProvider,
  ],
  [
    'the right names of another namespace',
    samlMetadata().replace('SAML:2.0:metadata', 'other'),
    noProvider,
  ],
  ['no entityID', samlMetadata({ entityId: ' ' }), 'its entityID is missing'],
  ['no SSO address', samlMetadata({ services: '' }), noAddress],
  [
    'an SSO address of another binding',
    samlMetadata({ services: signOnService('SOAP') }),
    noAddress,
  ],
  [
    'an SSO address that is a script',
    samlMetadata({ services: signOnService('HTTP-POST', 'javascript:x') }),
    noAddress,
  ],
  [
    'an SSO address deeper down',
    samlMetadata({ services: `<Extensions>${signOnService()}</Extensions>` }),
    noAddress,
  ],
  ['a certificate that only encrypts', samlMetadata({ use: ' use="encryption"' }), noCertificate],
  ['no certificate', samlMetadata({ certificate: '' }), noCertificate],
  ['an empty certificate', samlMetadata({ certificate: '<d:X509Certificate/>' }), badCertificate],
  [
    'half a certificate',
    samlMetadata({
      certificate: `<d:X509Certificate>${CERTIFICATE.slice(0, 200)}</d:X509Certificate>`,
    }),
    badCertificate,
  ],
  [
    'an external entity',
    `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${entity(samlMetadata({ entityId: '&e;' }))}`,
    doctype,
  ],
  ['a doctype in small letters', `<!doctype x>${entity(samlMetadata())}`, doctype],
  ['entities that multiply', `${bomb}${entity(samlMetadata({ entityId: '&a30;' }))}`, doctype],
  ['depth', '<a>'.repeat(300_000), 'its elements are nested deeper than 64'],
  [
    'length',
    `${samlMetadata()}${' '.repeat(METADATA_CHARACTERS_MAX)}`,
    `it is longer than ${METADATA_CHARACTERS_MAX} characters`,
  ],
];
for (const [says, text, error] of bad)
  test(`refused: ${says}`, (t) => {
    const beganMs = performance.now();
    t.is(samlMetadataError(text), error);
    t.true(performance.now() - beganMs < 2_000, 'it takes no long time');
  });

test('breadth is read in a bounded time', (t) => {
  const wide = samlMetadata({ services: '<x/>'.repeat(9_000) + signOnService() });
  const beganMs = performance.now();
  t.is(samlMetadataError(wide), null);
  t.true(performance.now() - beganMs < 2_000, `${performance.now() - beganMs} ms`);
  const wider = samlMetadata({ services: '<x/>'.repeat(10_000) });
  t.is(samlMetadataError(wider), 'it has more than 10000 tags');
});
