// What the document says of an operation follows from its kind.

import test from 'ava';
import { pathsOf, schemasOf, tagsOf } from '../../../../lib/api/openapi/paths.ts';
import { resource, text } from '../../../../lib/kit/validation/fields.ts';
import { validatorOf } from '../../../../lib/kit/validation/validate.ts';
import {
  described,
  queryOf,
  read,
  UUID_PARAM,
  write,
} from '../../../../lib/kit/operations/operation.ts';
import type { Part } from '../../../support/api/openapi.ts';

const fields = resource({ name: text('A name.').required() });
const answer = { title: 'Thing', fields, description: 'The thing.' };
const one = { path: '/v0/things/{id}', tag: 'things', params: UUID_PARAM } as const;
const body = { wrapper: 'thing', title: 'Thing', fields, validate: validatorOf<object>(fields) };

const things = [
  read({
    ...one,
    id: 'showThing',
    method: 'GET',
    scopes: ['read'],
    summary: 'Show a thing',
    answer,
    run: async () => ({}),
  }),
  write({
    ...one,
    id: 'updateThing',
    method: 'PATCH',
    scopes: [],
    summary: 'Change a thing',
    body: { ...body, mode: 'update', maxBytes: 5 },
    answer,
    run: async () => ({}),
  }),
  write({
    ...one,
    id: 'deleteThing',
    method: 'DELETE',
    scopes: [],
    summary: 'Delete a thing',
    answer: null,
    run: async () => null,
  }),
];

test('one path holds its operations; PUT is beside PATCH', (t) => {
  const { '/v0/things/{id}': path } = pathsOf(things) as Part;
  t.deepEqual(Object.keys(path), ['parameters', 'get', 'patch', 'put', 'delete']);
  t.is(path.patch.operationId, 'updateThing');
  t.is(path.put.operationId, 'putThing');
  t.deepEqual(Object.keys(path.get.responses), ['200', '401', '403', '404', '429', '500', '503']);
  t.is(path.put.requestBody.description, 'At most 5 bytes.');
  t.true('415' in path.put.responses);
  t.deepEqual(Object.keys(path.delete.responses['204'].headers), [
    'x-request-id',
    'postern-revision',
    'postern-applied',
  ]);
  t.false('415' in path.delete.responses);
});

test('each schema is there once, and so is each tag', (t) => {
  t.deepEqual(Object.keys(schemasOf(things)), ['Thing', 'ThingUpdate']);
  t.deepEqual(tagsOf(things), [{ name: 'things' }]);
});

test('CSV is beside JSON where an operation has it; a stream has its own type', (t) => {
  const query = queryOf(fields, validatorOf<object>(fields));
  const common = { method: 'GET', tag: 'things', scopes: ['read'], summary: 'Show it' } as const;
  const [table, stream] = [
    read({
      ...common,
      id: 'showTable',
      path: '/v0/table',
      answer,
      csv: { fileName: 'table', write: () => '' },
      run: async () => ({}),
    }),
    described({
      ...common,
      id: 'showStream',
      path: '/v0/stream',
      query,
      content: { description: 'Bytes.', type: 'application/octet-stream' },
    }),
  ];
  const paths = pathsOf([table, stream]) as Part;
  t.deepEqual(Object.keys(paths['/v0/table'].get.responses['200'].content), [
    'application/json',
    'text/csv',
  ]);
  const { get } = paths['/v0/stream'];
  t.deepEqual(get.parameters[0].name, 'name');
  t.deepEqual(get.responses['200'].content, { 'application/octet-stream': {} });
  t.deepEqual(Object.keys(get.responses), ['200', '401', '403', '422', '429', '500', '503']);
  t.deepEqual(schemasOf([stream]), {});
});
