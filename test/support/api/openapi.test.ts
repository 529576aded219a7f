// The check of answers: it must find what the document does not describe.

import test from 'ava';
import { checkAnswer, document, operationOf, operations, schemaError } from './openapi.ts';
import { openServer } from './server.ts';

test('a request belongs to the operation with its method and path', (t) => {
  t.is(operationOf('GET', '/v0/users?limit=1')?.path, '/v0/users');
  t.is(operationOf('head', '/v0/users/')?.path, '/v0/users');
  t.is(operationOf('PUT', '/v0/users/a@b.c')?.part.operationId, 'putUser');
  for (const path of ['/v0/x', '/v0/users/a/b', '/healthz', '/v0/openapi_json'])
    t.is(operationOf('GET', path), null, path);
  t.true(operations.length > 20);
});

test('an answer that is not described is found', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  const good = await send('POST', '/v0/rules', { body: { rule: { destination: '10.0.0.1' } } });
  const errorOf = (change: object): string | null =>
    checkAnswer('POST', '/v0/rules', { ...good, ...change });
  t.is(errorOf({}), null);
  const { data } = good.body;
  const { updated_at: _updated, ...short } = data;
  t.regex(errorOf({ body: { data: short } }) ?? '', /updated_at/);
  t.regex(errorOf({ body: { data: { ...data, more: 1 } } }) ?? '', /additional/);
  t.regex(errorOf({ body: { data: { ...data, id: 'x' } } }) ?? '', /format/);
  t.regex(errorOf({ body: { data: { ...data, action: null } } }) ?? '', /action/);
  t.regex(
    errorOf({ body: { data: { ...data, inserted_at: '2026-11-20T10:00:00.123Z' } } }) ?? '',
    /pattern/,
  );
  t.regex(errorOf({ body: { data, more: 1 } }) ?? '', /additional/);
  t.regex(errorOf({ body: null }) ?? '', /object/);
  t.regex(errorOf({ status: 418 }) ?? '', /status/);
  for (const name of ['location', 'x-request-id', 'postern-revision', 'postern-applied']) {
    const { [name]: _left, ...headers } = good.headers;
    t.regex(errorOf({ headers }) ?? '', /missing/, name);
  }
  t.regex(
    errorOf({ headers: { ...good.headers, 'postern-applied': 'yes' } }) ?? '',
    /postern-applied/,
  );
});

test('schemas are used with their formats and references', (t) => {
  const { DeviceCreate } = document.components.schemas;
  t.regex(schemaError(DeviceCreate, { user_id: 'x', public_key: 'y' }) ?? '', /uuid/);
  t.is(schemaError({ $ref: '#/components/schemas/Error' }, { error: 'not_found' }), null);
  t.truthy(schemaError({ $ref: '#/components/schemas/Error' }, { error: 'x' }));
  t.truthy(schemaError({ $ref: '#/components/schemas/Error' }, { errors: 'x' }));
});
