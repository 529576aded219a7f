// The document: valid, current, complete, and of the same fields as docs/api.md. That every answer of
// every other test is one that it describes, test/support/api/server.ts sees to.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { Validator } from '@seriousme/openapi-schema-validator';
import { openApiDocument } from '../../../../lib/api/openapi/document.ts';
import { document, operations, type Part, resolve } from '../../../support/api/openapi.ts';
import { openServer, routesOf } from '../../../support/api/server.ts';

/** Questions that are posted: nothing is written. */
const ASKS = ['/v0/explain', '/v0/dry_run'];

const golden = join(import.meta.dirname, '../../../golden/openapi.json');

test('the golden document is current', (t) => {
  const made = openApiDocument('');
  t.deepEqual(document, made, 'run: npm run openapi');
  t.is(readFileSync(golden, 'utf8'), `${JSON.stringify(made, null, 2)}\n`);
});

test('the document is one of OpenAPI 3.1', async (t) => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document) as Part);
  t.true(valid, JSON.stringify(errors));
  t.is(validator.version, '3.1');
  const bad = structuredClone(document);
  bad.paths['/v0/users'].get.responses['200'] = { content: 5 };
  t.false((await new Validator().validate(bad as Part)).valid, 'the validator has teeth');
});

test('every route is an operation, and every operation a route', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const routes = (await routesOf(server))
    .filter(({ path }) => path.startsWith('/v0/'))
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  t.deepEqual(
    operations.map(({ method, path }) => `${method} ${path}`).toSorted(),
    routes.toSorted(),
  );
  const ids = operations.map(({ part }) => part.operationId as string);
  t.is(new Set(ids).size, ids.length);
});

test('every operation says what it takes and answers', (t) => {
  for (const { method, path, part } of operations) {
    const name = `${method} ${path}`;
    const open = path === '/v0/openapi.json';
    const statuses = Object.keys(part.responses);
    t.is(part.security?.length === 0, open, name);
    t.true(statuses.includes('429') && statuses.includes('500'), name);
    for (const status of open ? [] : ['401', '403', '503']) t.true(statuses.includes(status), name);
    // A dry run names a record in its body.
    t.is(statuses.includes('404'), path.includes('{id}') || path === '/v0/dry_run', name);
    const writes = method !== 'GET' && !ASKS.includes(path);
    // The path says everything: who is a member of which group.
    const isInPath = path === '/v0/groups/{id}/members/{user}';
    const takesBody = ['POST', 'PUT', 'PATCH'].includes(method) && !isInPath;
    t.is(part.requestBody !== undefined, takesBody, name);
    for (const status of ['400', '415']) t.is(statuses.includes(status), takesBody, name);
    for (const status of statuses) {
      const { headers, content } = resolve(part.responses[status]);
      t.true('x-request-id' in headers, name);
      t.is('postern-revision' in headers, writes && Number(status) < 300, name);
      t.is('postern-applied' in headers, writes && Number(status) < 300, name);
      t.is('Location' in headers, status === '201', name);
      t.is('Retry-After' in headers, ['429', '503'].includes(status), name);
      t.is('WWW-Authenticate' in headers, status === '401', name);
      t.is(content === undefined, status === '204', name);
    }
  }
  t.deepEqual(document.security, [{ token: [] }]);
  t.like(document.components.securitySchemes.token, { type: 'http', scheme: 'bearer' });
});

test('lists have their parameters and the address of the next page', (t) => {
  const parameters: Record<string, string[]> = {
    '/v0/devices': ['limit', 'cursor', 'user_id', 'file_out_of_date'],
    '/v0/ended_flows': ['device_id', 'user_id', 'destination', 'rule_id', 'limit', 'cursor'],
    '/v0/flows': ['device_id', 'user_id', 'destination', 'rule_id', 'limit', 'cursor'],
    '/v0/rules': ['limit', 'cursor', 'user_id', 'group_id'],
    '/v0/users': ['limit', 'cursor', 'email'],
  };
  for (const [path, names] of Object.entries(parameters)) {
    const { get } = document.paths[path];
    t.deepEqual(
      get.parameters.map(({ name }: Part) => name),
      names,
    );
    t.true('Link' in get.responses['200'].headers);
    const { schema } = get.parameters.find(({ name }: Part) => name === 'limit');
    t.like(schema, { type: 'integer', minimum: 1, maximum: 1000 });
  }
});

test('every field is described', (t) => {
  const { schemas } = document.components;
  let count = 0;
  for (const schema of Object.values<Part>(schemas))
    for (const [name, field] of Object.entries<Part>(schema.properties ?? {})) {
      if (['errors', 'error'].includes(name)) continue;
      t.true(typeof field.description === 'string' && field.description.length > 3, name);
      t.truthy(field.type, name);
      count += 1;
    }
  t.true(count > 100);
});

test('where EXTERNAL_URL has a path, it is the server', (t) => {
  t.deepEqual((document as Part).servers, [{ url: '/' }]);
  t.deepEqual(openApiDocument('/gate')['servers'], [{ url: '/gate' }]);
});
