// Metadata that could not be fetched are named, with what serves meanwhile.

import test from 'ava';
import {
  logMetadataDoubts,
  metadataFindings,
} from '../../../../lib/auth/saml/metadata-findings.ts';
import { refreshOnDemand } from '../../../../lib/auth/saml/refresh.ts';
import { idpMetadata } from '../../../support/auth/bad-saml-provider.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import {
  CERTIFICATE,
  federation,
  samlMetadata,
  signOnService,
} from '../../../support/auth/identity-provider.ts';
import { openMetadataAddress, status } from '../../../support/auth/metadata-address.ts';
import { type LogLine, logInto } from '../../../../lib/testing/log.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

for (const kind of firstKind())
  test(`${kind}: a problem says what is wrong and what serves`, async (t) => {
    const database = await openDatabase(t, kind);
    const address = await openMetadataAddress(t, status(404));
    const metadata = idpMetadata(signOnService());
    const entries = [
      samlEntry({ id: 'fresh', metadata: '', metadata_url: address.url }),
      samlEntry({ id: 'seeded', metadata, metadata_url: address.url }),
      samlEntry({ id: 'pasted', metadata }),
    ];
    t.deepEqual(await metadataFindings(database, entries), []);
    for (const entry of entries.slice(0, 2)) await refreshOnDemand({ database }, entry);
    const texts = (await metadataFindings(database, entries)).map(({ text }) => text);
    t.is(texts.length, 2);
    t.regex(texts[0] ?? '', /provider fresh .*status 404\. Nobody can sign in/);
    t.regex(texts[1] ?? '', /provider seeded .*status 404\. The last good ones serve/);
    address.serve(metadata);
    for (const entry of entries.slice(0, 2)) await refreshOnDemand({ database }, entry);
    t.deepEqual(await metadataFindings(database, entries), []);
  });

test('entity_id is asked for where there are several, and unreadable certificates are named', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const metadata = federation('urn:a', 'urn:b');
  const certificate = `<d:X509Certificate>no</d:X509Certificate><d:X509Certificate>${CERTIFICATE}</d:X509Certificate>`;
  const entries = [
    samlEntry({ id: 'unnamed', metadata }),
    samlEntry({ id: 'named', metadata, entity_id: 'urn:b' }),
    samlEntry({ id: 'unreadable', metadata: samlMetadata({ certificate }) }),
    samlEntry({ id: 'bad', metadata: 'no XML' }),
  ];
  const texts = (await metadataFindings(database, entries)).map(({ text }) => text);
  t.is(texts.length, 2);
  t.regex(
    texts[0] ?? '',
    /^SAML provider unnamed: .* 2 identity providers.* urn:a, serves: urn:a, urn:b\.$/,
  );
  t.regex(
    texts[1] ?? '',
    /^SAML provider unreadable: .* signing certificate 1 of 2 cannot be read/,
  );
  const lines: LogLine[] = [];
  const known = new Map<string, string>();
  for (let round = 0; round < 2; round += 1)
    await logMetadataDoubts(database, logInto(lines), entries, known);
  t.is(lines.length, 2, 'once for each document');
  const changed = samlEntry({ id: 'named', metadata });
  await logMetadataDoubts(database, logInto(lines), [changed], known);
  t.is(lines.length, 3);
  t.is(known.size, 1);
});
