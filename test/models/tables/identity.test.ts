// Identities: an account at a provider is one user's, and accounts are distinguished by all of their
// parts.

import test from 'ava';
import { identityKey, type ProviderAccount, UniqueConstraintError } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addIdentity, addUser, identityValues, write } from '../fixtures.ts';

const account: ProviderAccount = {
  kind: 'oidc',
  provider_id: 'okta',
  issuer: 'https://id.example',
  subject: '42',
};

test('the key of an account depends on each of its parts, and on where one ends', (t) => {
  const others: Partial<ProviderAccount>[] = [
    {},
    { kind: 'saml' },
    { provider_id: 'okta2' },
    { issuer: 'https://id.example/' },
    { subject: '43' },
    { issuer: 'https://id.example","42', subject: '' },
  ];
  const keys = others.map((other) => identityKey({ ...account, ...other }));
  t.is(new Set(keys).size, others.length);
  t.true(keys.every((key) => /^[0-9a-f]{64}$/.test(key)));
});

for (const kind of databaseKinds())
  test(`${kind}: an account is bound once, and found with the id of its user`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Identity } = database.models;
    const user = await addUser(database);
    const identity = await addIdentity(database, user);
    const again = { ...identityValues(user.id), account_key: identity.account_key };
    const error = await t.throwsAsync(
      write(database, (transaction) => Identity.create(again, { transaction })),
    );
    t.true(error instanceof UniqueConstraintError);
    const { account_key } = identity;
    const found = await Identity.findOne({ where: { account_key } });
    t.is(found?.user_id, user.id);
  });
