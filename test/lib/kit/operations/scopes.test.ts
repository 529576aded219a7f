// Scopes of tokens: the table here names every operation of the server, and each token opens what the
// table says, and nothing else. docs/api.md#scopes.

import test from 'ava';
import {
  isScope,
  type Scope,
  SCOPES,
  scopesFor,
  scopesIn,
  scopeText,
} from '../../../../lib/kit/operations/scopes.ts';
import { createToken } from '../../../../lib/auth/tokens.ts';
import { writeTransaction } from '../../../../models/index.ts';
import { ADMIN_EMAIL, openServer, routesOf } from '../../../support/api/server.ts';
import { addDevice } from '../../../support/database/records.ts';

/** Operations, by method and path, and the scopes that open them beside `admin`. */
const OPENED_BY: Readonly<Record<string, readonly Scope[]>> = {
  'GET /metrics': ['metrics', 'read'],
  'GET /v0/devices': ['read'],
  'POST /v0/devices': [],
  'GET /v0/devices/{id}': ['read'],
  'PATCH /v0/devices/{id}': [],
  'PUT /v0/devices/{id}': [],
  'DELETE /v0/devices/{id}': [],
  'GET /v0/devices/{id}/capture': ['capture'],
  'GET /v0/devices/{id}/connections': ['read'],
  'GET /v0/devices/{id}/diagnosis': ['read'],
  'GET /v0/devices/{id}/traffic': ['read'],
  'GET /v0/users': ['read'],
  'POST /v0/users': [],
  'GET /v0/users/{id}': ['read'],
  'PATCH /v0/users/{id}': [],
  'PUT /v0/users/{id}': [],
  'DELETE /v0/users/{id}': [],
  'GET /v0/users/{id}/enrolment': ['read'],
  'POST /v0/users/{id}/enrolment': [],
  'DELETE /v0/users/{id}/enrolment': [],
  'GET /v0/users/{id}/traffic': ['read'],
  'GET /v0/groups': ['read'],
  'POST /v0/groups': [],
  'GET /v0/groups/{id}': ['read'],
  'PATCH /v0/groups/{id}': [],
  'PUT /v0/groups/{id}': [],
  'DELETE /v0/groups/{id}': [],
  'GET /v0/groups/{id}/traffic': ['read'],
  'GET /v0/groups/{id}/members': ['read'],
  'POST /v0/groups/{id}/members': [],
  'PUT /v0/groups/{id}/members/{user}': [],
  'DELETE /v0/groups/{id}/members/{user}': [],
  'GET /v0/rules': ['read'],
  'POST /v0/rules': [],
  'GET /v0/rules/{id}': ['read'],
  'PATCH /v0/rules/{id}': [],
  'PUT /v0/rules/{id}': [],
  'DELETE /v0/rules/{id}': [],
  'GET /v0/rules/{id}/counters': ['read'],
  'GET /v0/rules/{id}/traffic': ['read'],
  'POST /v0/explain': ['read'],
  'GET /v0/who_may_reach': ['read'],
  'POST /v0/dry_run': ['read'],
  'GET /v0/flows': ['read'],
  'GET /v0/ended_flows': ['read'],
  'GET /v0/refusals': ['read'],
  'GET /v0/traffic': ['read'],
  'GET /v0/unknown_senders': ['read'],
  'GET /v0/policy_tests': ['read'],
  'POST /v0/policy_tests': [],
  'GET /v0/policy_tests/{id}': ['read'],
  'PATCH /v0/policy_tests/{id}': [],
  'PUT /v0/policy_tests/{id}': [],
  'DELETE /v0/policy_tests/{id}': [],
  'GET /v0/configuration': ['read'],
  'PATCH /v0/configuration': [],
  'PUT /v0/configuration': [],
  'GET /v0/trusted_providers': ['read'],
  'PATCH /v0/trusted_providers/{kind}/{id}': [],
  'PUT /v0/trusted_providers/{kind}/{id}': [],
  'PATCH /v0/trusted_providers/{kind}/{id}/relink': [],
  'PUT /v0/trusted_providers/{kind}/{id}/relink': [],
  'GET /v0/saml_metadata': ['read'],
  'PATCH /v0/saml_metadata/{id}': [],
  'PUT /v0/saml_metadata/{id}': [],
  'GET /v0/api_tokens': ['read'],
  'POST /v0/api_tokens': [],
  'GET /v0/api_tokens/{id}': ['read'],
  'DELETE /v0/api_tokens/{id}': [],
  'GET /v0/audit': ['read'],
  'GET /v0/gateways': ['read'],
};

test('the table names every operation that needs a token, and no other', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const routes = await routesOf(server);
  const needing = routes
    .filter(({ path }) => path.startsWith('/v0/') || path === '/metrics')
    .filter(({ settings }) => (settings.auth as unknown) !== false)
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  t.deepEqual(Object.keys(OPENED_BY).sort(), [...new Set(needing)].sort());
  for (const route of routes) {
    const { method, path } = route;
    const scopes = OPENED_BY[`${method.toUpperCase()} ${path}`];
    if (scopes !== undefined) t.deepEqual(scopesFor(route), scopes, `${method} ${path}`);
  }
});

test('only operations that change nothing are open to a scope but admin', (t) => {
  const open = Object.entries(OPENED_BY).filter(([, scopes]) => scopes.length > 0);
  const asks = new Set(['POST /v0/explain', 'POST /v0/dry_run']);
  for (const [operation] of open) t.true(operation.startsWith('GET ') || asks.has(operation));
  const reading = open.filter(([, scopes]) => !scopes.includes('read'));
  t.deepEqual(
    reading.map(([operation]) => operation),
    ['GET /v0/devices/{id}/capture'],
    'packets are not for readers',
  );
});

test('each token opens what the table says; a refusal names the scope that it lacks', async (t) => {
  const { send, database, services } = await openServer(t, 'sqlite', {
    API_RATE_LIMIT: '0',
    METRICS_ACCESS: 'token',
  });
  const tokens = await Promise.all(
    SCOPES.map(async (scope) => {
      const made = await createToken(database, {
        email: ADMIN_EMAIL,
        name: scope,
        scopes: [scope],
      });
      return [scope, made.token] as const;
    }),
  );
  for (const [operation, scopes] of Object.entries(OPENED_BY)) {
    const [method = '', path = ''] = operation.split(' ');
    for (const [scope, token] of tokens) {
      const isOpen = scope === 'admin' || scopes.includes(scope);
      // No record has the id of the path, and no body is sent.
      const { status, body, headers } = await send(method, path, { token });
      t.is(status === 403, !isOpen, `${operation} with ${scope}: ${status}`);
      if (isOpen) continue;
      t.is(body.error, 'insufficient_scope');
      const [error] = body.errors.scopes as [string];
      t.regex(error, new RegExp(`^should be one of ${['admin', ...scopes].join(', ')} for this$`));
      t.regex(String(headers['www-authenticate']), /^Bearer error="insufficient_scope"$/);
    }
  }
  t.true(services.counters.of('requests_refused', 'insufficient_scope') > 0);
});

test('a reader sees no secret: not in a list, a page, a record or the configuration', async (t) => {
  const { send, database, adminId } = await openServer(t, 'sqlite');
  const { id } = await addDevice(database, adminId, { name: 'laptop' });
  const provider = {
    id: 'okta',
    label: 'Okta',
    client_id: 'postern',
    client_secret: 'hush-hush',
    discovery_document_uri: 'https://okta.example.com/.well-known/openid-configuration',
    auto_create_users: false,
    scope: 'openid email',
    response_type: 'code' as const,
    redirect_uri: null,
  };
  await writeTransaction(database, async (transaction) => {
    const row = await database.models.Configuration.findOne({ transaction });
    await row?.update({ openid_connect_providers: [provider] }, { transaction });
  });
  const scopes: Scope[] = ['read'];
  const { token } = await createToken(database, { email: ADMIN_EMAIL, name: 'reader', scopes });
  const paths = [
    '/v0/devices',
    '/v0/devices?limit=1',
    `/v0/devices?user_id=${adminId}`,
    `/v0/devices/${id}`,
    '/v0/configuration',
  ];
  // The whole list is remembered, so both orders are asked.
  for (const asker of [undefined, token, undefined, token])
    for (const path of paths) {
      const { status, text, body } = await send('GET', path, asker === undefined ? {} : { token });
      t.is(status, 200, path);
      const first = Array.isArray(body.data) ? body.data[0] : body.data;
      const secret = path.includes('devices')
        ? first.preshared_key
        : first.openid_connect_providers[0]?.client_secret;
      t.is(secret === null, asker !== undefined, `${path}: ${text}`);
      t.is(typeof secret === 'string' && secret.length > 0, asker === undefined, path);
    }
});

test('scopes are kept as words in one order; admin includes the others', (t) => {
  t.is(scopeText(['capture', 'read']), 'read capture');
  t.is(scopeText(['read', 'admin']), 'admin');
  t.deepEqual(scopesIn('read capture'), ['read', 'capture']);
  t.deepEqual(scopesIn('metrics strange'), ['metrics']);
  t.deepEqual(scopesIn(''), [], 'what nobody wrote opens nothing');
  t.true(isScope('read'));
  for (const word of ['Read', '', 'write', null, 1]) t.false(isScope(word));
});
