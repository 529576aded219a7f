// The commands about fetched metadata: shown, fetched at once, former certificates made void.

import test from 'ava';
import { readOrCreateConfiguration } from '../../../models/index.ts';
import { write } from '../../models/fixtures.ts';
import { ENTITY_ID, idpMetadata, otherIdpKey } from '../../support/auth/bad-saml-provider.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { signOnService } from '../../support/auth/identity-provider.ts';
import { openMetadataAddress, status } from '../../support/auth/metadata-address.ts';
import { samlEntry } from '../../support/auth/provider-entries.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

const runLine = runTyped;

for (const kind of databaseKinds())
  test(`${kind}: metadata are shown and fetched, and a former certificate is dropped`, async (t) => {
    const database = await openDatabase(t, kind);
    const metadata = idpMetadata(signOnService());
    const address = await openMetadataAddress(t, metadata);
    const saml_identity_providers = [
      samlEntry({ id: 'adfs', metadata, metadata_url: address.url }),
      samlEntry({ id: 'pasted', metadata }),
    ];
    const { id } = await readOrCreateConfiguration(database);
    await write(database, async (transaction) => {
      const where = { id };
      await database.models.Configuration.update(
        { saml_identity_providers },
        { where, transaction },
      );
    });
    const run = (verb: string, id = 'saml/adfs') =>
      runLine(database, `provider ${verb} --id ${id}`);
    const shown = (await run('show')).text;
    for (const text of [address.url, ENTITY_ID, 'fetched      never']) t.true(shown.includes(text));
    t.regex(shown, /^in use +\d{4}-\d\d-\d\d +[0-9a-f]{64}$/m);

    address.serve(idpMetadata(signOnService(), { key: otherIdpKey }));
    const fetched = await run('refresh');
    t.regex(fetched.text, /^The metadata were fetched\.$/m);
    t.regex(fetched.text, /^awaited [^]+^former /m);
    t.like(fetched.data, { id: 'adfs', problem: null });
    t.regex((await run('drop-certificate')).text, /^Former certificates that are void now: 1\.$/m);
    t.regex((await run('drop-certificate')).text, /^No former certificate serves\.$/m);
    const entries = await database.models.AuditEntry.findAll({ where: { kind: 'saml_metadata' } });
    t.is(entries.length, 2);

    address.serve(status(404));
    await t.throwsAsync(run('refresh'), { message: /were not taken: .* status 404$/ });
    t.regex((await run('show')).text, /^problem +its address answered with status 404$/m);
    await t.throwsAsync(run('show', 'saml/none'), {
      message: /no SAML provider saml\/none; the id/,
    });
    await t.throwsAsync(run('show', 'oidc/adfs'), { message: /there is no SAML provider/ });
    await t.throwsAsync(run('show', 'saml/pasted'), { message: /has no metadata address/ });
  });
