// The commands that list identity providers and mark the trusted ones.

import test from 'ava';
import { isTrusted, readAuditEntries, readOrCreateConfiguration } from '../../../models/index.ts';
import { addIdentity, addUser, write } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { samlMetadata } from '../../support/auth/identity-provider.ts';
import { oidcEntry, samlEntry } from '../../support/auth/provider-entries.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

const runLine = runTyped;

for (const kind of databaseKinds()) {
  test(`${kind}: providers are listed, trusted, and no longer trusted`, async (t) => {
    const database = await openDatabase(t, kind);
    t.is((await runLine(database, 'provider list')).text, '');
    const oidc = oidcEntry();
    const saml = [
      samlEntry({ id: 'okta', label: 'Other', metadata: samlMetadata() }),
      samlEntry({ id: 'broken', metadata: '<x/>' }),
    ];
    await write(database, async (transaction) => {
      const row = await readOrCreateConfiguration(database);
      const lists = { openid_connect_providers: [oidc], saml_identity_providers: saml };
      await database.models.Configuration.update(lists, { where: { id: row.id }, transaction });
    });
    const trusted = await runLine(database, 'provider trust --id oidc/okta');
    t.deepEqual(trusted.data, { id: 'oidc/okta', trusted: true });
    const authority = oidc.discovery_document_uri;
    t.true(await isTrusted(database, { kind: 'oidc', provider_id: 'okta', authority }));
    t.deepEqual((await runLine(database, 'provider list')).data, [
      { id: 'oidc/okta', label: 'Okta', trusted: true },
      { id: 'saml/okta', label: 'Other', trusted: false },
      { id: 'saml/broken', label: 'SAML', trusted: false },
    ]);
    const { text, onScreen } = await runLine(database, 'provider list');
    t.regex(text, /^oidc\/okta\tOkta\ttrusted$/m);
    const screen = { width: 80, isColoured: false, widthOf: (one: string) => one.length, nowMs: 0 };
    t.regex(
      onScreen?.(screen) ?? '',
      /^ID +NAME +E-MAIL ADDRESSES\noidc\/okta +Okta +trusted\n[^]*not trusted$/,
    );
    await runLine(database, 'provider trust --id saml/okta');
    await runLine(database, 'provider distrust --id oidc/okta');
    const { data } = await runLine(database, 'provider list');
    t.deepEqual(
      (data as { trusted: boolean }[]).map((row) => row.trusted),
      [false, true, false],
    );
    const [entry] = await readAuditEntries(database, { limit: 1 });
    t.is(entry?.kind, 'trusted_provider');
    for (const id of ['okta', 'oidc/none'])
      await t.throwsAsync(runLine(database, `provider trust --id ${id}`), {
        message: /there is no identity provider .* begins with oidc\/ or saml\//,
      });
    await t.throwsAsync(runLine(database, 'provider trust --id saml/broken'), {
      message: /cannot be read/,
    });
  });

  test(`${kind}: one user or everybody is linked anew, administrators never`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await readOrCreateConfiguration(database);
    const lists = { openid_connect_providers: [oidcEntry()] };
    await write(database, (transaction) =>
      database.models.Configuration.update(lists, { where: { id }, transaction }),
    );
    const user = await addUser(database, { email: 'Ann@example.com' });
    const admin = await addUser(database, { email: 'boss@example.com', role: 'admin' });
    await addUser(database, { email: 'free@example.com' });
    const link = await addIdentity(database, user);
    for (const one of [user, admin]) await addIdentity(database, one);
    const relink = (rest: string) => runLine(database, `provider relink --id ${rest}`);
    const errors = [
      ['oidc/none --everyone', /there is no identity provider oidc\/none/],
      ['oidc/okta', /say who: --email E for one user, or --everyone/],
      ['oidc/okta --everyone --email ann@example.com', /say who/],
      ['oidc/okta --email nobody@example.com', /there is no user nobody@example.com/],
      ['oidc/okta --email free@example.com', /free@example.com is not linked through/],
      ['oidc/okta --email boss@example.com', /boss@example.com is an administrator/],
    ] as const;
    for (const [rest, message] of errors) await t.throwsAsync(relink(rest), { message }, rest);
    await link.reload();
    t.is(link.relink_until, null);
    const one = await relink('oidc/okta --email ann@example.com');
    await link.reload();
    const until = link.relink_until?.toISOString();
    t.deepEqual(one.data, { id: 'oidc/okta', users: 1, administrators: 0, until });
    t.true(one.text.startsWith('1 user may be linked anew'), one.text);
    const all = await relink('oidc/okta --everyone');
    t.like(all.data, { users: 1, administrators: 1 });
    t.regex(all.text, /1 administrator is left out/);
    const [entry] = await readAuditEntries(database, { limit: 1 });
    t.is(entry?.kind, 'identity');
    t.deepEqual(Object.keys(entry?.changes ?? {}), ['relink_until']);
  });
}
