// The configuration: one row, its fresh values, its secrets encrypted.

import test from 'ava';
import { readOrCreateConfiguration } from '../../../models/index.ts';
import { uniqueColumn } from '../../../models/database/errors.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { write } from '../fixtures.ts';

const provider = {
  id: 'p',
  label: 'P',
  client_id: 'c',
  client_secret: 'a client secret',
  discovery_document_uri: 'https://id.example.com/.well-known/openid-configuration',
  auto_create_users: false,
  scope: 'openid email profile',
  response_type: 'code' as const,
  redirect_uri: null,
};

for (const kind of databaseKinds()) {
  test(`${kind}: a fresh configuration has the values of a fresh installation`, async (t) => {
    const database = await openDatabase(t, kind);
    await readOrCreateConfiguration(database);
    const configuration = await readOrCreateConfiguration(database);
    const { id, singleton: _, inserted_at, updated_at, ...values } = configuration.get();
    t.is(id.length, 36);
    t.deepEqual(inserted_at, updated_at);
    t.deepEqual(values, {
      auto_sockets: true,
      allow_unprivileged_device_management: true,
      allow_unprivileged_device_configuration: true,
      default_action: 'accept',
      default_client_allowed_ips: ['0.0.0.0/0', '::/0'],
      default_client_dns: ['1.1.1.1', '1.0.0.1'],
      default_client_endpoint: null,
      default_client_mtu: null,
      default_client_persistent_keepalive: 25,
      default_client_include_routes: false,
      default_limit_down: null,
      default_limit_up: null,
      default_quota: null,
      disable_vpn_on_oidc_error: false,
      local_auth_enabled: true,
      vpn_session_duration: 0,
      logo: {},
      openid_connect_providers: [],
      saml_identity_providers: [],
    });
  });

  test(`${kind}: there is never a second configuration`, async (t) => {
    const database = await openDatabase(t, kind);
    await readOrCreateConfiguration(database);
    const error = await t.throwsAsync(
      write(database, (transaction) => database.models.Configuration.create({}, { transaction })),
    );
    t.is(uniqueColumn(error), 'singleton');
  });

  test(`${kind}: providers come back as they were given, and their secrets are encrypted`, async (t) => {
    const database = await openDatabase(t, kind);
    const configuration = await readOrCreateConfiguration(database);
    const change = (values: object) =>
      write(database, (transaction) => configuration.update(values, { transaction }));
    await change({ openid_connect_providers: [provider] });
    await configuration.reload();
    t.deepEqual(configuration.openid_connect_providers, [provider]);
    const { updated_at } = configuration;
    await change({ openid_connect_providers: [{ ...provider }] });
    t.deepEqual(configuration.updated_at, updated_at);
    const [rows] = await database.sequelize.query('SELECT * FROM configurations');
    t.false(JSON.stringify(rows).includes(provider.client_secret));
    await change({ openid_connect_providers: [] });
    await configuration.reload();
    t.deepEqual(configuration.openid_connect_providers, []);
  });

  test(`${kind}: values that were read can be changed without changing the row`, async (t) => {
    const database = await openDatabase(t, kind);
    const configuration = await readOrCreateConfiguration(database);
    configuration.openid_connect_providers.push(provider);
    configuration.default_client_dns.push('9.9.9.9');
    t.deepEqual(configuration.openid_connect_providers, []);
    t.is(configuration.default_client_dns.length, 2);
  });
}
