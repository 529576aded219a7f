// The check of answers: it must find what the document does not describe.

import test from 'ava';
import { checkAnswer, document, operationOf, operations, schemaFault } from './openapi.ts';
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
  const judge = (change: object): string | null =>
    checkAnswer('POST', '/v0/rules', { ...good, ...change });
  t.is(judge({}), null);
  const { data } = good.body;
  const { updated_at: _updated, ...short } = data;
  t.regex(judge({ body: { data: short } }) ?? '', /updated_at/);
  t.regex(judge({ body: { data: { ...data, more: 1 } } }) ?? '', /additional/);
  t.regex(judge({ body: { data: { ...data, id: 'x' } } }) ?? '', /format/);
  t.regex(judge({ body: { data: { ...data, action: null } } }) ?? '', /action/);
  t.regex(
    judge({ body: { data: { ...data, inserted_at: '2026-11-20T10:00:00.123Z' } } }) ?? '',
    /pattern/,
  );
  t.regex(judge({ body: { data, more: 1 } }) ?? '', /additional/);
  t.regex(judge({ body: null }) ?? '', /object/);
  t.regex(judge({ status: 418 }) ?? '', /status/);
  for (const name of ['location', 'x-request-id', 'postern-revision', 'postern-applied']) {
    const { [name]: _left, ...headers } = good.headers;
    t.regex(judge({ headers }) ?? '', /missing/, name);
  }
  t.regex(
    judge({ headers: { ...good.headers, 'postern-applied': 'yes' } }) ?? '',
    /postern-applied/,
  );
});

test('schemas are used with their formats and references', (t) => {
  const { DeviceCreate } = document.components.schemas;
  t.regex(schemaFault(DeviceCreate, { user_id: 'x', public_key: 'y' }) ?? '', /uuid/);
  t.is(schemaFault({ $ref: '#/components/schemas/Error' }, { error: 'x' }), null);
  t.truthy(schemaFault({ $ref: '#/components/schemas/Error' }, { errors: 'x' }));
});
