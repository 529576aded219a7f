// Settings that the environment fixes, over HTTP: docs/api.md#settings-fixed-by-the-environment.
// Which texts are read, and what is said of bad ones, is in fixed-settings.test.ts.

import test from 'ava';
import { effectiveConfiguration } from '../../../../lib/kit/records/effective-configuration.ts';
import { currentRevision, readOrCreateConfiguration } from '../../../../models/index.ts';
import { addDevice, addUser } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { answers, newKey, openServer, refused, serverOn } from '../../../support/api/server.ts';

const path = '/v0/configuration';
const fixedBy = (name: string): string =>
  `cannot be changed; it is overridden by ${name} environment variable`;

const variables = {
  DEFAULT_ACTION: 'drop',
  LOCAL_AUTH_ENABLED: 'false',
  VPN_SESSION_DURATION: '3600',
  DEFAULT_CLIENT_MTU: '1400',
  DEFAULT_CLIENT_DNS: '9.9.9.9, dns.example',
  DEFAULT_CLIENT_ENDPOINT: 'fixed.example',
  LOGO: '{"url":"https://example.com/logo.png"}',
  OPENID_CONNECT_PROVIDERS: '[]',
};
const shown = {
  default_action: 'drop',
  local_auth_enabled: false,
  vpn_session_duration: 3600,
  default_client_mtu: 1400,
  default_client_dns: ['9.9.9.9', 'dns.example'],
  default_client_endpoint: 'fixed.example',
  logo: { url: 'https://example.com/logo.png', data: null, type: null },
  openid_connect_providers: [],
};

for (const kind of databaseKinds()) {
  test(`${kind}: GET shows the environment's values, devices their defaults`, async (t) => {
    const plain = await openServer(t, kind);
    const own = { vpn_session_duration: 5, default_client_mtu: 600, default_client_dns: [] };
    await plain.send('PATCH', path, { body: { configuration: own } });
    const before = (await plain.send('GET', path)).body.data;
    const { send, adminId, token } = await serverOn(plain.database, variables);
    const { data } = (await send('GET', path)).body;
    t.deepEqual(data, { ...before, ...shown });
    const device = await send('POST', '/v0/devices', {
      body: { device: { user_id: adminId, public_key: newKey() } },
    });
    t.is(device.status, 201, device.text);
    const settings = { mtu: 1400, dns: ['9.9.9.9', 'dns.example'], endpoint: 'fixed.example' };
    t.like(device.body.data, settings);
    t.like((await send('GET', `/v0/devices/${device.body.data.id}`)).body.data, settings);
    t.like((await send('GET', '/v0/devices')).body.data[0], settings);
    const again = await serverOn(plain.database);
    t.like((await again.send('GET', path, { token })).body.data, own, 'what is stored, once free');
  });

  test(`${kind}: changing one is refused, even to the same value; others may change`, async (t) => {
    const server = await openServer(t, kind, variables);
    const { send, database } = server;
    const revision = await currentRevision(database);
    const rows = Object.entries(shown).flatMap(([name, value]) =>
      [value, null].map((sent) => [name, sent] as const),
    );
    for (const [name, sent] of rows) {
      const answer = await send('PATCH', path, { body: { configuration: { [name]: sent } } });
      t.is(answer.status, 422, `${name}: ${answer.text}`);
      const texts: string[] = answer.body.errors[name];
      t.is(texts.at(-1), fixedBy(name.toUpperCase()));
    }
    await answers(t, server, [
      {
        says: 'the text is exact',
        send: ['PATCH', path, { body: { configuration: { local_auth_enabled: true } } }],
        status: 422,
        body: refused({ local_auth_enabled: [fixedBy('LOCAL_AUTH_ENABLED')] }),
      },
      {
        says: 'other errors of a readable value stand beside it, and those of other fields',
        send: [
          'PUT',
          path,
          {
            body: {
              configuration: { default_client_mtu: 5, allow_unprivileged_device_management: null },
            },
          },
        ],
        status: 422,
        body: refused({
          default_client_mtu: [
            'must be greater than or equal to 576',
            fixedBy('DEFAULT_CLIENT_MTU'),
          ],
          allow_unprivileged_device_management: ["can't be blank"],
        }),
      },
      {
        says: 'what cannot be read is validated no further',
        send: ['PATCH', path, { body: { configuration: { vpn_session_duration: 'x' } } }],
        status: 422,
        body: refused({ vpn_session_duration: ['is invalid'] }),
      },
    ]);
    t.is(await currentRevision(database), revision, 'nothing was written');
    const free = { configuration: { disable_vpn_on_oidc_error: true } };
    const changed = await send('PATCH', path, { body: free });
    t.is(changed.status, 200, changed.text);
    t.like(changed.body.data, { ...shown, disable_vpn_on_oidc_error: true });
  });

  test(`${kind}: WIREGUARD_MTU moves the default and does not fix it`, async (t) => {
    const { send } = await openServer(t, kind, { WIREGUARD_MTU: '1420' });
    t.is((await send('GET', path)).body.data.default_client_mtu, 1420);
    const body = { configuration: { default_client_mtu: 1300 } };
    t.is((await send('PATCH', path, { body })).body.data.default_client_mtu, 1300);
  });

  test(`${kind}: a row alone comes to itself`, async (t) => {
    const row = await readOrCreateConfiguration(await openDatabase(t, kind));
    const whole = effectiveConfiguration(row, {});
    for (const [name, value] of Object.entries(whole))
      t.deepEqual(value, row.get(name as 'id') as unknown, name);
    t.is(effectiveConfiguration(row, { vpn_session_duration: 9 }).vpn_session_duration, 9);
  });

  test(`${kind}: where the list of providers does not open, people are disabled all the same`, async (t) => {
    const { send, database, adminId } = await openServer(t, kind);
    const sealed = "UPDATE configurations SET openid_connect_providers = '1:00000000:AAAA'";
    await database.sequelize.query(sealed);
    const user = await addUser(database);
    const admin = await addUser(database, { role: 'admin' });
    const device = await addDevice(database, user);
    const off = { enabled: false };
    for (const [at, body] of [
      [`devices/${device.id}`, { device: off }],
      [`users/${user.id}`, { user: off }],
      [`users/${admin.id}`, { user: off }],
    ] as const) {
      const answer = await send('PATCH', `/v0/${at}`, { body });
      t.is(answer.status, 200, answer.text);
      t.false(answer.body.data.enabled);
    }
    t.is((await send('GET', `/v0/users/${adminId}`)).status, 200);
    t.is((await send('GET', '/v0/devices')).status, 200);
    t.is((await send('GET', path)).status, 500, 'the list itself is not shown');
  });
}
