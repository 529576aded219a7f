// The configuration over HTTP: docs/api.md#the-configuration, sentence by sentence. Providers and
// the logo are in providers.test.ts.

import test from 'ava';
import fc from 'fast-check';
import {
  answers,
  newKey,
  openServer,
  refused,
  type Row,
  serverOn,
  surfaces,
} from '../../../support/api/server.ts';
import { anyCharacter } from '../../../support/api/characters.ts';

const path = '/v0/configuration';
const blank = ["can't be blank"];
const invalid = ['is invalid'];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

for (const kind of surfaces()) {
  test(`${kind}: a fresh configuration has its defaults`, async (t) => {
    const { send } = await openServer(t, kind, { EXTERNAL_URL: 'https://vpn.example.com:8443/' });
    const { body, status } = await send('GET', path);
    t.is(status, 200);
    const { id, inserted_at, updated_at } = body.data;
    t.deepEqual(body.data, {
      id,
      allow_unprivileged_device_management: true,
      allow_unprivileged_device_configuration: true,
      default_action: 'accept',
      default_client_allowed_ips: ['0.0.0.0/0', '::/0'],
      default_client_dns: ['1.1.1.1', '1.0.0.1'],
      default_client_endpoint: 'vpn.example.com:51820',
      default_client_mtu: 1280,
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
      inserted_at,
      updated_at,
    });
    t.regex(inserted_at, TIME);
  });

  test(`${kind}: every field is changed, kept and shown`, async (t) => {
    const { send } = await openServer(t, kind);
    const before = (await send('GET', path)).body.data;
    const changes = {
      allow_unprivileged_device_management: false,
      allow_unprivileged_device_configuration: 'false',
      default_action: 'drop',
      default_client_allowed_ips: [' 10.1.2.3/8 ', 'FD00::/8'],
      default_client_dns: [],
      default_client_endpoint: ' [FD00::1]:1 ',
      default_client_mtu: '576',
      default_client_persistent_keepalive: 120,
      disable_vpn_on_oidc_error: '1',
      local_auth_enabled: false,
      vpn_session_duration: 2_147_483_647,
    };
    const shown = {
      ...changes,
      allow_unprivileged_device_configuration: false,
      default_client_allowed_ips: ['10.1.2.3/8', 'fd00::/8'],
      default_client_endpoint: '[FD00::1]:1',
      default_client_mtu: 576,
      disable_vpn_on_oidc_error: true,
    };
    const changed = await send('PATCH', path, { body: { configuration: changes } });
    t.is(changed.status, 200, changed.text);
    t.deepEqual(changed.body.data, {
      ...before,
      ...shown,
      updated_at: changed.body.data.updated_at,
    });
    t.true(changed.body.data.updated_at > before.updated_at);
    t.deepEqual((await send('GET', path)).body, changed.body);
    const some = await send('PUT', path, { body: { configuration: { local_auth_enabled: true } } });
    t.like(some.body.data, { ...shown, local_auth_enabled: true, id: before.id });
  });

  test(`${kind}: an update without the default action leaves it as it is`, async (t) => {
    const { send } = await openServer(t, kind);
    const update = (method: string, configuration: object): ReturnType<typeof send> =>
      send(method, path, { body: { configuration } });
    await update('PATCH', { default_action: 'drop' });
    for (const method of ['PATCH', 'PUT']) {
      const { body } = await update(method, { vpn_session_duration: method.length });
      t.is(body.data.default_action, 'drop', method);
    }
  });

  test(`${kind}: an update that changes nothing leaves updated_at alone`, async (t) => {
    const { send } = await openServer(t, kind);
    const whole = (await send('GET', path)).body;
    const same = [{}, whole.data, { id: newKey(), inserted_at: 5, updated_at: 'x', other: 1 }];
    for (const configuration of same)
      t.deepEqual((await send('PUT', path, { body: { configuration } })).body, whole);
  });

  test(`${kind}: the endpoint is derived until it is set, and again after null`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const set = (default_client_endpoint: unknown): ReturnType<typeof send> =>
      send('PATCH', path, { body: { configuration: { default_client_endpoint } } });
    const elsewhere = await serverOn(database, {
      EXTERNAL_URL: 'https://b.example/',
      WIREGUARD_PORT: '9',
    });
    const shownElsewhere = async (): Promise<unknown> =>
      (await elsewhere.send('GET', path)).body.data.default_client_endpoint;
    t.is(await shownElsewhere(), 'b.example:9');
    t.is((await set('a.example')).body.data.default_client_endpoint, 'a.example');
    t.is(await shownElsewhere(), 'a.example', 'seen by every process at its next request');
    for (const nothing of [null, '', '  ']) {
      await set('a.example');
      t.is((await set(nothing)).body.data.default_client_endpoint, '127.0.0.1:51820');
      t.is(await shownElsewhere(), 'b.example:9');
    }
  });

  test(`${kind}: every error of every field is reported at once`, async (t) => {
    const { send } = await openServer(t, kind);
    const before = (await send('GET', path)).body;
    const patch = (configuration: object, errors: object): Row => ({
      says: JSON.stringify(configuration),
      send: ['PATCH', path, { body: { configuration } }],
      status: 422,
      body: refused(errors),
    });
    const flags = [
      'allow_unprivileged_device_management',
      'allow_unprivileged_device_configuration',
      'disable_vpn_on_oidc_error',
      'local_auth_enabled',
    ];
    const nullable = new Set([
      'id',
      'inserted_at',
      'updated_at',
      'default_client_endpoint',
      'default_limit_down',
      'default_limit_up',
      'default_quota',
      'logo',
    ]);
    const values = Object.keys(before.data).filter((name) => !nullable.has(name));
    await answers(t, { send }, [
      ...flags.flatMap((name) =>
        [1, 0, 'yes', {}, []].map((bad) => patch({ [name]: bad }, { [name]: invalid })),
      ),
      ...values.map((name) => patch({ [name]: null }, { [name]: blank })),
      ...values.map((name) => patch({ [name]: '' }, { [name]: blank })),
      patch(
        { default_client_mtu: 575 },
        { default_client_mtu: ['must be greater than or equal to 576'] },
      ),
      patch(
        { default_client_mtu: 1501 },
        { default_client_mtu: ['must be less than or equal to 1500'] },
      ),
      patch({ default_client_mtu: 1280.5 }, { default_client_mtu: invalid }),
      ...['DROP', 'reject', true, ['drop']].map((bad) =>
        patch({ default_action: bad }, { default_action: ['should be one of accept, drop'] }),
      ),
      patch(
        { default_client_persistent_keepalive: 121 },
        { default_client_persistent_keepalive: ['must be less than or equal to 120'] },
      ),
      patch(
        { vpn_session_duration: -1 },
        { vpn_session_duration: ['must be greater than or equal to 0'] },
      ),
      patch(
        { vpn_session_duration: 2_147_483_648 },
        { vpn_session_duration: ['must be less than or equal to 2147483647'] },
      ),
      patch(
        { default_client_endpoint: 'a b' },
        { default_client_endpoint: ['a b is not a valid FQDN'] },
      ),
      patch({ default_client_endpoint: 5 }, { default_client_endpoint: invalid }),
      patch(
        { default_client_dns: ['1.1.1.1:53'] },
        { default_client_dns: ['setting port is not allowed'] },
      ),
      patch({ default_client_dns: 'x' }, { default_client_dns: invalid }),
      patch({ default_client_allowed_ips: ['x'] }, { default_client_allowed_ips: invalid }),
      patch(
        { default_client_allowed_ips: ['::/0', '0::/0'] },
        { default_client_allowed_ips: ['should not contain duplicates'] },
      ),
      patch(
        { local_auth_enabled: 5, vpn_session_duration: 'x', logo: 5, openid_connect_providers: {} },
        {
          local_auth_enabled: invalid,
          vpn_session_duration: invalid,
          logo: invalid,
          openid_connect_providers: invalid,
        },
      ),
    ]);
    t.deepEqual((await send('GET', path)).body, before);
  });
}

test('no configuration whatsoever makes a 5xx, and a refused one changes nothing', async (t) => {
  const { send, log } = await openServer(t, 'sqlite');
  const fields = Object.keys((await send('GET', path)).body.data);
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom('a.b:5', '10.0.0.0/8', '\0', '\ud800'),
  );
  const entry = fc.dictionary(
    fc.constantFrom('id', 'label', 'url', 'data', 'type', '__proto__'),
    fc.jsonValue(),
  );
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 5 }),
    text,
    fc.double(),
    fc.boolean(),
    fc.array(text),
    entry,
    fc.array(entry),
  );
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...fields), value), async (configuration) => {
      const before = (await send('GET', path)).body;
      const { status, body } = await send('PATCH', path, { body: { configuration } });
      t.true([200, 422].includes(status), String(status));
      const after = (await send('GET', path)).body;
      t.deepEqual(after, status === 200 ? body : before);
    }),
    { numRuns: 150 },
  );
  t.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  );
});
