// Trust in a provider: for the entry as it stood when an administrator marked it.

import test from 'ava';
import { isTrusted, markTrusted, readAuditEntries } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { write } from '../fixtures.ts';

const okta = { kind: 'oidc', provider_id: 'okta', authority: 'https://id.example/d' } as const;

for (const kind of databaseKinds())
  test(`${kind}: a mark is for one entry and one address, and can be taken away`, async (t) => {
    const database = await openDatabase(t, kind);
    const mark = (authority: string, trusted: boolean) =>
      write(database, (transaction) =>
        markTrusted(database, { ...okta, authority }, trusted, transaction),
      );
    t.false(await isTrusted(database, okta));
    await mark(okta.authority, true);
    t.true(await isTrusted(database, okta));
    t.false(await isTrusted(database, { ...okta, kind: 'saml' }));
    t.false(await isTrusted(database, { ...okta, authority: 'https://evil.example/d' }));
    await mark('https://other.example/d', true);
    t.false(await isTrusted(database, okta));
    await mark('https://other.example/d', false);
    t.is(await database.models.TrustedProvider.count(), 0);
    const entries = await readAuditEntries(database, { limit: 10 });
    t.deepEqual(
      entries.slice(-3).map((entry) => `${entry.kind} ${entry.action}`),
      ['trusted_provider create', 'trusted_provider update', 'trusted_provider delete'],
    );
  });
