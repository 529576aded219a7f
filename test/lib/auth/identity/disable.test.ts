// Disabling by a provider: it disables an enabled user, keeps the cause, and touches nobody else.

import test from 'ava';
import { disableByProvider } from '../../../../lib/auth/identity/disable.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: an enabled user is disabled, with the provider as the cause`, async (t) => {
    const database = await openDatabase(t, kind);
    const shutOut = (id: string) =>
      write(database, (transaction) => disableByProvider(database, id, 'oidc/okta', transaction));
    const user = await addUser(database);
    t.true(await shutOut(user.id));
    t.like(await user.reload(), { disabled_by: 'provider', disabled_provider: 'oidc/okta' });
    const since = user.disabled_at;
    t.false(await shutOut(user.id), 'twice');
    t.deepEqual((await user.reload()).disabled_at, since);
    t.false(await shutOut('nobody'));
    const disabled_at = new Date('2026-01-01T00:00:00Z');
    const other = await addUser(database, { disabled_at, disabled_by: 'administrator' });
    t.false(await shutOut(other.id));
    t.like(await other.reload(), { disabled_at, disabled_by: 'administrator' });
  });
