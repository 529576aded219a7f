// What the operations of all collections have in common.

import test from 'ava';
import { newKey, openServer } from '../../support/api/server.ts';

test('a list is as new as its records, in every process', async (t) => {
  const { send, adminId } = await openServer(t, 'sqlite');
  const names = async (path: string, field: string): Promise<string[]> =>
    (await send('GET', path)).body.data.map((record: Record<string, string>) => record[field]);
  for (let i = 0; i < 3; i += 1) {
    await send('POST', '/v0/users', { body: { user: { email: `u${i}@x.y` } } });
    t.is((await names('/v0/users', 'email')).at(-1), `u${i}@x.y`);
    await send('POST', '/v0/rules', { body: { rule: { destination: `10.0.0.${i}` } } });
    t.is((await names('/v0/rules', 'destination')).at(-1), `10.0.0.${i}`);
    const device = { user_id: adminId, public_key: newKey(), name: `d${i}` };
    const { body } = await send('POST', '/v0/devices', { body: { device } });
    t.is((await names('/v0/devices', 'name')).at(-1), `d${i}`);
    await send('PATCH', `/v0/devices/${body.data.id}`, { body: { device: { name: `e${i}` } } });
    t.is((await names('/v0/devices', 'name')).at(-1), `e${i}`);
    const configuration = { default_client_mtu: 1300 + i };
    await send('PATCH', '/v0/configuration', { body: { configuration } });
    t.is((await send('GET', '/v0/devices')).body.data[0].mtu, 1300 + i);
  }
});

// docs/api.md#order-of-checks
test('what is wrong with a request of ours comes before an id that nobody has', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  const id = '0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
  const validated: [method: string, path: string, wrong: object, right: object][] = [
    ['PATCH', `/v0/groups/${id}`, { group: { name: '' } }, { group: { name: 'a' } }],
    ['POST', `/v0/groups/${id}/members`, { members: { add: 5 } }, { members: {} }],
    [
      'PATCH',
      `/v0/policy_tests/${id}`,
      { policy_test: { name: '' } },
      { policy_test: { name: 'a' } },
    ],
    ['POST', `/v0/users/${id}/enrolment`, { enrolment: { hours: 0 } }, { enrolment: {} }],
    [
      'PATCH',
      '/v0/trusted_providers/oidc/none',
      { trusted_provider: { trusted: 5 } },
      { trusted_provider: {} },
    ],
    [
      'PUT',
      '/v0/trusted_providers/oidc/none/relink',
      { relink: {} },
      { relink: { everyone: true } },
    ],
    [
      'PATCH',
      '/v0/saml_metadata/none',
      { saml_metadata: { refresh: 5 } },
      { saml_metadata: { refresh: true } },
    ],
  ];
  for (const [method, path, wrong, right] of validated) {
    t.is((await send(method, path, { body: wrong })).status, 422, `${method} ${path}`);
    t.is((await send(method, path, { body: right })).status, 404, `${method} ${path}`);
  }
  const asked = [
    `/v0/groups/${id}/members?limit=0`,
    `/v0/devices/${id}/capture?snaplen=1`,
    `/v0/devices/${id}/connections?limit=0`,
    ...['devices', 'users', 'groups', 'rules'].map((name) => `/v0/${name}/${id}/traffic?step=x`),
  ];
  for (const path of asked) {
    t.is((await send('GET', path)).status, 422, path);
    const [plain = ''] = path.split('?');
    t.is((await send('GET', plain)).status, 404, plain);
  }
  // Clients of the original see 404.
  const original: [path: string, wrong: object][] = [
    [`/v0/devices/${id}`, { device: { name: '' } }],
    [`/v0/users/${id}`, { user: { email: '' } }],
    [`/v0/rules/${id}`, { rule: { destination: '' } }],
  ];
  for (const [path, body] of original)
    t.is((await send('PATCH', path, { body })).status, 404, path);
});
