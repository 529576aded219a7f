// All operations of docs/api.md#operations, and every field of its tables.

import test from 'ava';
import { openServer, routesOf } from '../../../support/api/server.ts';

test('the routes are those of docs/api.md#operations, and no others', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const routes = (await routesOf(server)).map(({ method, path }) => `${method} ${path}`);
  const collection = (name: string): string[] => [
    `get /v0/${name}`,
    `post /v0/${name}`,
    `get /v0/${name}/{id}`,
    `patch /v0/${name}/{id}`,
    `put /v0/${name}/{id}`,
    `delete /v0/${name}/{id}`,
  ];
  t.deepEqual(
    routes.filter((route) => route.includes('/v0')).sort(),
    [
      ...['users', 'devices', 'rules', 'policy_tests'].flatMap(collection),
      'get /v0/groups',
      'post /v0/groups',
      'get /v0/groups/{id}',
      'patch /v0/groups/{id}',
      'put /v0/groups/{id}',
      'delete /v0/groups/{id}',
      'get /v0/groups/{id}/members',
      'get /v0/groups/{id}/traffic',
      'post /v0/groups/{id}/members',
      'put /v0/groups/{id}/members/{user}',
      'delete /v0/groups/{id}/members/{user}',
      'get /v0/configuration',
      'patch /v0/configuration',
      'put /v0/configuration',
      'get /v0/openapi.json',
      // Additions of ours.
      'get /v0/rules/{id}/counters',
      'get /v0/devices/{id}/capture',
      'get /v0/traffic',
      'get /v0/devices/{id}/traffic',
      'get /v0/users/{id}/traffic',
      'get /v0/rules/{id}/traffic',
      'get /v0/devices/{id}/connections',
      'post /v0/explain',
      'get /v0/who_may_reach',
      'post /v0/dry_run',
      'get /v0/devices/{id}/diagnosis',
      'get /v0/unknown_senders',
      'get /v0/ended_flows',
      'get /v0/flows',
      'get /v0/refusals',
      'get /v0/trusted_providers',
      'patch /v0/trusted_providers/{kind}/{id}',
      'put /v0/trusted_providers/{kind}/{id}',
      'patch /v0/trusted_providers/{kind}/{id}/relink',
      'put /v0/trusted_providers/{kind}/{id}/relink',
      'get /v0/users/{id}/enrolment',
      'post /v0/users/{id}/enrolment',
      'delete /v0/users/{id}/enrolment',
      'get /v0/api_tokens',
      'post /v0/api_tokens',
      'get /v0/api_tokens/{id}',
      'delete /v0/api_tokens/{id}',
      'get /v0/audit',
      'get /v0/gateways',
      'get /v0/saml_metadata',
      'patch /v0/saml_metadata/{id}',
      'put /v0/saml_metadata/{id}',
    ].sort(),
  );
});

test('every field of a table is in every answer, and nothing else is', async (t) => {
  const { deviceSchema } = await import('../../../../lib/domain/devices/devices.ts');
  const { userSchema } = await import('../../../../lib/domain/users/users.ts');
  const { ruleSchema } = await import('../../../../lib/domain/rules/rules.ts');
  const { policyTestSchema } = await import('../../../../lib/domain/policy-tests/policy-tests.ts');
  const { configurationSchema } =
    await import('../../../../lib/domain/configuration/configuration.ts');
  const { send, adminId } = await openServer(t, 'sqlite');
  const device = { user_id: adminId, public_key: Buffer.alloc(32, 9).toString('base64') };
  await send('POST', '/v0/devices', { body: { device } });
  await send('POST', '/v0/rules', { body: { rule: { destination: '10.0.0.1' } } });
  const policy_test = {
    name: 'a',
    user_id: adminId,
    destination: '10.0.0.1',
    protocol: 'icmp',
    expect: 'drop',
  };
  await send('POST', '/v0/policy_tests', { body: { policy_test } });
  const shown = async (path: string): Promise<string[]> => {
    const { data } = (await send('GET', path)).body;
    return Object.keys(Array.isArray(data) ? data[0] : data).sort();
  };
  for (const [path, fields] of [
    ['/v0/devices', deviceSchema],
    ['/v0/users', userSchema],
    ['/v0/rules', ruleSchema],
    ['/v0/policy_tests', policyTestSchema],
    ['/v0/configuration', configurationSchema],
  ] as const) {
    const { keys } = fields.describe() as { keys: Record<string, { metas?: object[] }> };
    const readable = Object.entries(keys)
      .filter(([, { metas = [] }]) => !metas.some((meta) => 'writeOnly' in meta))
      .map(([name]) => name);
    t.deepEqual(await shown(path), readable.sort());
  }
});
