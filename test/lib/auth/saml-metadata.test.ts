// SAML metadata: what sign-in needs of it, and what is refused, attacks among it.

import test from 'ava';
import {
  METADATA_CHARACTERS_MAX,
  parseSamlMetadata,
  samlMetadataFault,
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
for (const [says, text] of good) test(`taken: ${says}`, (t) => t.is(samlMetadataFault(text), null));

const bomb = `<!DOCTYPE x [<!ENTITY a "aaaa">${Array.from(
  { length: 30 },
  (_, i) => `<!ENTITY a${i + 1} "&a${i || ''};&a${i || ''};">`,
).join('')}]>`;
const bad: [says: string, text: string, fault: string][] = [
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
for (const [says, text, fault] of bad)
  test(`refused: ${says}`, (t) => {
    const beganMs = performance.now();
    t.is(samlMetadataFault(text), fault);
    t.true(performance.now() - beganMs < 2_000, 'it takes no long time');
  });

test('breadth is read in a bounded time', (t) => {
  const wide = samlMetadata({ services: '<x/>'.repeat(9_000) + signOnService() });
  const beganMs = performance.now();
  t.is(samlMetadataFault(wide), null);
  t.true(performance.now() - beganMs < 2_000, `${performance.now() - beganMs} ms`);
  const wider = samlMetadata({ services: '<x/>'.repeat(10_000) });
  t.is(samlMetadataFault(wider), 'it has more than 10000 tags');
});
