// Metadata from addresses that are good, away, slow, huge, lead elsewhere, or hold what is of no
// use: each error has a word and a sentence.

import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import tls from 'node:tls';
import test from 'ava';
import { makeCertificate } from '../../../../lib/auth/saml/certificate.ts';
import {
  fetchMetadata,
  isMetadataAddress,
  type MetadataReason,
  MetadataFetchError,
} from '../../../../lib/auth/saml/fetch-metadata.ts';
import { ENTITY_ID, idpMetadata } from '../../../support/auth/bad-saml-provider.ts';
import { federation, signOnService } from '../../../support/auth/identity-provider.ts';
import {
  openMetadataAddress,
  type Served,
  status,
} from '../../../support/auth/metadata-address.ts';

const limits = { timeoutMs: 20_000, bytesMax: 100_000 };
const good = idpMetadata(signOnService());
const until = (text: string) => good.replace(' entityID=', ` validUntil="${text}" entityID=`);
const leadTo = (location: string): Served => {
  return (response) => void response.writeHead(302, { location }).end();
};

test('metadata may stand at https, and at http of this machine', (t) => {
  for (const address of ['https://idp.example/m', 'http://127.0.0.1/m', 'http://[::1]:8080/m'])
    t.true(isMetadataAddress(new URL(address)), address);
  for (const address of ['http://idp.example/m', 'http://10.0.0.1/m', 'ftp://127.0.0.1/m'])
    t.false(isMetadataAddress(new URL(address)), address);
});

test('metadata are fetched, with a byte order mark and an end to come too', async (t) => {
  for (const document of [good, `\uFEFF${good}`, until('2100-01-01T00:00:00Z')]) {
    const { url } = await openMetadataAddress(t, document);
    const { text, metadata } = await fetchMetadata(url, ENTITY_ID, limits);
    t.is(metadata.entityId, ENTITY_ID);
    t.is(text.trim(), document.trim());
  }
});

const bad: [says: string, served: Served, reason: MetadataReason, message: string][] = [
  ['a status', status(404), 'unreachable', 'its address answered with status 404'],
  [
    'a broken connection',
    (response) => response.destroy(),
    'unreachable',
    'it cannot be fetched (UND_ERR_SOCKET)',
  ],
  ['a giant', ' '.repeat(200_000), 'unreachable', 'it is larger than 100000 bytes'],
  [
    'a redirect to http',
    leadTo('http://idp.example/m'),
    'unreachable',
    'its address redirects to an address that is not https',
  ],
  [
    'a file',
    leadTo('file:///etc/passwd'),
    'unreachable',
    'its address redirects to an address that is not https',
  ],
  [
    'a page',
    '<html>secret</html>',
    'unfit',
    'it does not describe an identity provider of SAML 2.0',
  ],
  ['no XML', '{}', 'unfit', 'it is not well-formed XML'],
  [
    'an entity',
    `<!DOCTYPE x [<!ENTITY a "b">]>${good}`,
    'unfit',
    'it has a DOCTYPE, which is not allowed',
  ],
  [
    'no certificate',
    good.replaceAll('KeyDescriptor', 'Other'),
    'unfit',
    'it has no signing certificate',
  ],
  [
    'another entity',
    idpMetadata(signOnService(), { entityId: 'urn:evil' }),
    'other_entity',
    `it is about another provider: its entityID is not ${ENTITY_ID}`,
  ],
  ['an end', until('2020-01-01T00:00:00Z'), 'expired', 'its validUntil has passed, or is no time'],
  ['no time', until('soon'), 'expired', 'its validUntil has passed, or is no time'],
];
for (const [says, served, reason, message] of bad)
  test(`what is served is refused: ${says}`, async (t) => {
    const { url } = await openMetadataAddress(t, served);
    const error = await t.throwsAsync(fetchMetadata(url, ENTITY_ID, limits), {
      instanceOf: MetadataFetchError,
      message,
    });
    t.is((error as MetadataFetchError).reason, reason);
  });

test('redirects without an end, and an address that stalls, are given up', async (t) => {
  const address = await openMetadataAddress(t, leadTo('/again'));
  const { url } = address;
  await t.throwsAsync(fetchMetadata(url, null, limits), { message: /more than 3 times/ });
  address.serve((response) => void response.write('<'));
  const brief = { ...limits, timeoutMs: 300 };
  await t.throwsAsync(fetchMetadata(url, null, brief), { message: /within 0\.3 s/ });
});

test.serial('over https, to a certificate that is known, and never on to http', async (t) => {
  const { privateKey, certificate } = await makeCertificate(
    new Date(),
    randomBytes(8).fill(1, 0, 1),
  );
  let location: string | null = null;
  const server = createServer({ key: privateKey, cert: certificate }, (_request, response) => {
    if (location === null) response.end(good);
    else response.writeHead(302, { location }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/m`;
  await t.throwsAsync(fetchMetadata(url, null, limits), {
    message: 'it cannot be fetched (DEPTH_ZERO_SELF_SIGNED_CERT)',
  });
  const known = tls.getCACertificates('default');
  tls.setDefaultCACertificates([certificate]);
  t.teardown(() => tls.setDefaultCACertificates(known));
  // The certificate names no host.
  await t.throwsAsync(fetchMetadata(url, null, limits), {
    message: 'it cannot be fetched (ERR_TLS_CERT_ALTNAME_INVALID)',
  });
  const check = tls.checkServerIdentity;
  tls.checkServerIdentity = () => undefined;
  t.teardown(() => {
    tls.checkServerIdentity = check;
  });
  t.is((await fetchMetadata(url, null, limits)).metadata.entityId, ENTITY_ID);
  const plain = await openMetadataAddress(t, good);
  location = plain.url;
  await t.throwsAsync(fetchMetadata(url, null, limits), { message: /that is not https$/ });
  t.is(plain.count(), 0);
});

test('of several providers the wanted one is taken, and one that is not the first is asked for', async (t) => {
  const { url } = await openMetadataAddress(t, federation('urn:a', 'urn:b'));
  const wanted = await fetchMetadata(url, 'urn:b', limits, new Date(), 'urn:b');
  t.is(wanted.metadata.entityId, 'urn:b');
  t.is((await fetchMetadata(url, 'urn:a', limits)).metadata.entityId, 'urn:a', 'as before');
  await t.throwsAsync(fetchMetadata(url, 'urn:b', limits), { message: /name it in entity_id$/ });
});
