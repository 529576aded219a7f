// The configuration of a dump: providers that are there, masks, and metadata that is none.

import test, { type ExecutionContext } from 'ava';
import { importConfiguration } from '../../../../lib/installation/imports/firezone-configuration.ts';
import { type Database, readOrCreateConfiguration } from '../../../../models/index.ts';
import { write } from '../../../models/fixtures.ts';
import { federation } from '../../../support/auth/identity-provider.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { configOf } from '../../../support/api/server.ts';

const provider = (id: string, client_secret: unknown) => ({
  id,
  label: id,
  client_id: 'client',
  client_secret,
  discovery_document_uri: 'https://id.example/.well-known/openid-configuration',
  auto_create_users: false,
});

async function start(t: ExecutionContext) {
  const database = await openDatabase(t, 'sqlite');
  await readOrCreateConfiguration(database);
  const run = (dumped: Record<string, unknown>) =>
    write(database, (transaction) =>
      importConfiguration({ config: configOf(), database }, dumped, transaction),
    );
  return { database, run };
}

async function secrets(database: Database): Promise<Record<string, string>> {
  const { openid_connect_providers: all } = await database.models.Configuration.findOne({
    rejectOnEmpty: true,
  });
  return Object.fromEntries(all.map(({ id, client_secret }) => [id, client_secret]));
}

test('providers that are there stay, but for those of the same id', async (t) => {
  const { database, run } = await start(t);
  await run({ openid_connect_providers: [provider('a', 'first'), provider('b', 'second')] });
  await run({ openid_connect_providers: [provider('b', 'third'), provider('c', 'fourth')] });
  t.deepEqual(await secrets(database), { a: 'first', b: 'third', c: 'fourth' });
  await run({ vpn_session_duration: 60 });
  t.deepEqual(await secrets(database), { a: 'first', b: 'third', c: 'fourth' });
});

for (const mask of ['********', '••••', '[REDACTED]', 'hidden', '', null, undefined, 'xxxx'])
  test(`the secret ${JSON.stringify(mask)} is none, and to be set anew`, async (t) => {
    const { database, run } = await start(t);
    const { notes, errors } = await run({ openid_connect_providers: [provider('a', mask)] });
    t.deepEqual(errors, []);
    t.regex(notes.join(), /the dump hides the client_secret of a; set it anew/);
    t.deepEqual(await secrets(database), { a: 'to-be-set-anew' });
  });

test('metadata that is none is an error with its place, and nothing is saved', async (t) => {
  const { database, run } = await start(t);
  const saml = { id: 's', label: 's', metadata: '<a/>', auto_create_users: true };
  const { errors } = await run({
    vpn_session_duration: 7,
    saml_identity_providers: [saml],
  });
  t.is(errors.length, 1);
  t.regex(
    errors[0] ?? '',
    /^configuration\.saml_identity_providers\[0\]\.metadata is invalid\. Det/,
  );
  const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
  t.is(row.vpn_session_duration, 0);
});

test('metadata of several providers serve as in Firezone, and the entry names the one', async (t) => {
  const { database, run } = await start(t);
  const metadata = federation('urn:a', 'urn:b');
  const saml = { id: 's', label: 's', metadata, auto_create_users: true };
  const entityOf = async (): Promise<string | undefined> => {
    const stored = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    return stored.saml_identity_providers[0]?.entity_id;
  };
  const { errors, notes } = await run({ saml_identity_providers: [saml] });
  t.deepEqual(errors, []);
  t.is(await entityOf(), 'urn:a');
  t.deepEqual(notes, [
    'saml_identity_providers: s: The metadata describe 2 identity providers: urn:a, urn:b. ' +
      'Firezone sent people to the first one, so entity_id is now urn:a; change it if your people ' +
      'are at another one',
  ]);
  const named = { ...saml, entity_id: 'urn:b' };
  t.deepEqual(await run({ saml_identity_providers: [named] }), { errors: [], notes: [] });
  t.is(await entityOf(), 'urn:b');
});

test('metadata of one provider get no entity_id', async (t) => {
  const { database, run } = await start(t);
  const saml = { id: 's', label: 's', metadata: federation('urn:a'), auto_create_users: true };
  t.deepEqual(await run({ saml_identity_providers: [saml] }), { errors: [], notes: [] });
  const stored = await database.models.Configuration.findOne({ rejectOnEmpty: true });
  t.is(stored.saml_identity_providers[0]?.entity_id, undefined);
});
