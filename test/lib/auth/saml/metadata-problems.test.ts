// Metadata that could not be fetched are named, with what serves meanwhile.

import test from 'ava';
import { metadataProblems } from '../../../../lib/auth/saml/metadata-problems.ts';
import { refreshOnDemand } from '../../../../lib/auth/saml/refresh.ts';
import { idpMetadata } from '../../../support/auth/bad-saml-provider.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { openMetadataAddress, status } from '../../../support/auth/metadata-address.ts';
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
    t.deepEqual(await metadataProblems(database, entries), []);
    for (const entry of entries.slice(0, 2)) await refreshOnDemand({ database }, entry);
    const texts = (await metadataProblems(database, entries)).map(({ text }) => text);
    t.is(texts.length, 2);
    t.regex(texts[0] ?? '', /provider fresh .*status 404\. Nobody can sign in/);
    t.regex(texts[1] ?? '', /provider seeded .*status 404\. The last good ones serve/);
    address.serve(metadata);
    for (const entry of entries.slice(0, 2)) await refreshOnDemand({ database }, entry);
    t.deepEqual(await metadataProblems(database, entries), []);
  });
