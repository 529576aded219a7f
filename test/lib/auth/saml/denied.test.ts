// Whom a provider's denial disables: only who signs in through that provider.

import test from 'ava';
import { shutOutDenied } from '../../../../lib/auth/saml/denied.ts';
import {
  GATEWAY,
  identityKey,
  readAuditEntries,
  writeTransaction,
} from '../../../../models/index.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { addPerson } from '../../../support/web/visitor.ts';

for (const kind of firstKind())
  test(`${kind}: a denial disables who is linked, or signed in that way last, and nobody else`, async (t) => {
    const database = await openDatabase(t, kind);
    const [linked, last, other] = await Promise.all(
      ['linked', 'last', 'other'].map((name) => addPerson(database, `${name}@example.com`)),
    );
    if (linked === undefined || last === undefined || other === undefined) return t.fail();
    const account = {
      kind: 'saml',
      provider_id: 'idp',
      issuer: 'urn:idp',
      subject: 'one',
    } as const;
    const account_key = identityKey(account);
    await writeTransaction(database, async (transaction) => {
      const row = { ...account, user_id: linked.id, account_key };
      await database.models.Identity.create(row, { transaction });
      await last.update({ last_signed_in_method: 'idp' }, { transaction });
      await other.update({ last_signed_in_method: 'email' }, { transaction });
    });
    for (const { id: userId } of [linked, last, other])
      await shutOutDenied(database, { userId, providerId: 'idp' }, GATEWAY);
    const state = async (user: typeof linked) => {
      await user.reload();
      return [user.disabled_at !== null, user.disabled_by, user.disabled_provider];
    };
    t.deepEqual(await state(linked), [true, 'provider', 'saml/idp']);
    t.deepEqual(await state(last), [true, 'provider', 'saml/idp']);
    t.deepEqual(await state(other), [false, null, null]);
    const entries = await readAuditEntries(database, { limit: 10, recordId: linked.id });
    t.true(
      entries.some(({ changes }) => 'disabled_by' in changes),
      'the trail says so',
    );
    const nobody = { userId: '00000000-0000-7000-8000-000000000000', providerId: 'idp' };
    await t.notThrowsAsync(shutOutDenied(database, nobody, GATEWAY), 'who is gone is gone');
  });
