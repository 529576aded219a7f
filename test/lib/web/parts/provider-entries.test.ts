// The entries of providers as their pages change them: a change of somebody else in between is not
// overwritten.

import test from 'ava';
import { openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { samlMetadata } from '../../../support/auth/identity-provider.ts';

const NEW = '/settings/providers/saml/new';

for (const kind of firstKind())
  test(`${kind}: of two who save at once, both entries are kept, or one reads that it was not saved`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    await admin.get(NEW);
    const typed = (id: string) => ({ label: id, id, metadata: samlMetadata() });
    const answers = await Promise.all(['one', 'two'].map((id) => admin.post(NEW, typed(id))));
    const done = answers.filter(({ status }) => status === 303);
    for (const { status, text } of answers)
      if (status !== 303) t.regex(text, /Somebody else changed the providers meanwhile/);
    const { data } = (await send('GET', '/v0/configuration')).body as never;
    t.is((data['saml_identity_providers'] as object[]).length, done.length);
    t.true(done.length > 0);
  });
