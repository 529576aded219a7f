// The examples of the document are sent as they stand, over a real connection; only the ids of
// other records are put in.

import test from 'ava';
import { EXAMPLE_ID, examples } from '../../../../lib/api/openapi/examples.ts';
import { operations, type Part, schemaError } from '../../../support/api/openapi.ts';
import { idpMetadata } from '../../../support/auth/bad-saml-provider.ts';
import { openProvider, signOnService } from '../../../support/auth/identity-provider.ts';
import { openMetadataAddress } from '../../../support/auth/metadata-address.ts';
import { oidcEntry, samlEntry } from '../../../support/auth/provider-entries.ts';
import { openServer, surfaces } from '../../../support/api/server.ts';

for (const kind of surfaces())
  test(`${kind}: every example of the document works`, async (t) => {
    const { send } = await openServer(t, kind);
    const ids: Record<string, string> = {};
    const bodyOf = ({ requestBody }: Part): string =>
      JSON.stringify(requestBody.content['application/json'].example).replaceAll(
        EXAMPLE_ID,
        ids['users'] ?? '',
      );
    const isUpdate = ({ method, path }: { method: string; path: string }): boolean =>
      method !== 'POST' || path.endsWith('/members');
    const creates = operations.filter((operation) => !isUpdate(operation));
    const isOf = ({ path }: { path: string }): number => Number(path.includes('{id}'));
    // Devices have owners, so users are made first; then what belongs to one of them.
    const ordered = creates.toSorted((a, b) => isOf(a) - isOf(b) || b.path.localeCompare(a.path));
    for (const { path, part } of ordered) {
      const place = path.replace('{id}', ids['users'] ?? '');
      const answer = await send('POST', place, { body: bodyOf(part) });
      if (path === '/v0/explain' || path === '/v0/dry_run') continue;
      t.is(answer.status, 201, answer.text);
      ids[path.replace('/v0/', '')] = answer.body.data.id;
    }
    // Marks are for entries, which are no collection of their own.
    const provider = `${(await openProvider(t)).origin}/discovery`;
    const entries = [oidcEntry({ discovery_document_uri: provider })];
    const metadata = idpMetadata(signOnService());
    const { url } = await openMetadataAddress(t, metadata);
    const configuration = {
      openid_connect_providers: entries,
      saml_identity_providers: [samlEntry({ id: 'adfs', metadata, metadata_url: url })],
    };
    t.is((await send('PATCH', '/v0/configuration', { body: { configuration } })).status, 200);
    ids['trusted_providers'] = 'okta';
    ids['saml_metadata'] = 'adfs';
    const updates = operations.filter(
      (operation) => operation.part.requestBody !== undefined && isUpdate(operation),
    );
    for (const { method, path, part } of updates) {
      const id = ids[path.split('/')[2] ?? ''] ?? '';
      const answer = await send(method, path.replace('{kind}', 'oidc').replace('{id}', id), {
        body: bodyOf(part),
      });
      t.is(answer.status, 200, answer.text);
      if (path.endsWith('/members')) {
        t.deepEqual(answer.body.data, { added: 1, removed: 0 });
        continue;
      }
      const [sent] = Object.values(JSON.parse(bodyOf(part)) as Record<string, object>);
      t.like(answer.body.data, sent as Record<string, unknown>);
    }
    t.is(creates.length + updates.length, 28);
  });

test('every example is what its operation takes', (t) => {
  for (const { part, method, path } of operations)
    if (part.requestBody !== undefined) {
      const { schema, example } = part.requestBody.content['application/json'];
      t.is(schemaError(schema as object, example), null, `${method} ${path}`);
    }
  t.deepEqual(Object.keys(examples).toSorted(), [
    'api_token',
    'configuration',
    'device',
    'dry_run',
    'enrolment',
    'explain',
    'group',
    'members',
    'policy_test',
    'relink',
    'rule',
    'saml_metadata',
    'trusted_provider',
    'user',
  ]);
});
