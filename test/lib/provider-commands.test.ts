// The commands that list identity providers and mark the trusted ones.

import test from 'ava';
import { parseCommandLine } from '../../lib/cli.ts';
import { databaseCommands, type Outcome } from '../../lib/commands.ts';
import {
  type Database,
  isTrusted,
  readAuditEntries,
  readOrCreateConfiguration,
} from '../../models/index.ts';
import { write } from '../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../support/databases.ts';
import { samlMetadata } from '../support/identity-provider.ts';
import { oidcEntry, samlEntry } from '../support/providers.ts';

async function runLine(database: Database, line: string): Promise<Outcome> {
  const parsed = parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(JSON.stringify(parsed));
  const run = databaseCommands[parsed.command.words];
  if (run === undefined) throw new Error(`no command of the database: ${line}`);
  return run(database, parsed.command, async () => '', {});
}

for (const kind of databaseKinds())
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
    t.regex((await runLine(database, 'provider list')).text, /^oidc\/okta\tOkta\ttrusted$/m);
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
