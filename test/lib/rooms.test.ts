// What holds for all operations, and that rooms are made once. What each does, the tests of its room
// and of the API show; which scopes open it, operations/scopes.test.ts.

import test from 'ava';
import { allOperations, operations } from '../../lib/rooms.ts';
import { operations as documentedOperations } from '../support/api/openapi.ts';
import { examples } from '../../lib/api/openapi/examples.ts';

test('ids and places of operations are those of one alone', (t) => {
  const places = allOperations.map(({ method, path }) => `${method} ${path}`);
  const ids = allOperations.map(({ id }) => id);
  t.is(new Set(places).size, places.length);
  t.is(new Set(ids).size, ids.length);
  for (const id of ids) t.regex(id, /^[a-z]+[A-Za-z]*$/);
});

test('paths name their parameters, and the operations of one path name the same', (t) => {
  for (const { path, params = {} } of allOperations) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    t.deepEqual(Object.keys(params), named, path);
  }
  for (const [path, all] of Map.groupBy(operations, (one) => one.path))
    for (const { params } of all) t.deepEqual(params, all[0]?.params, path);
});

test('an operation that is not public has no place in the document', (t) => {
  const unrouted = allOperations.filter((one) => !operations.includes(one));
  const named = unrouted.map(({ id }) => id);
  t.deepEqual(named, [
    'enrolPeople',
    'ensureAdministrator',
    'unlockUser',
    'removeSecondFactors',
    'createTokenOfUser',
  ]);
  const documented = documentedOperations.map(({ part }) => part.operationId);
  t.true(documented.includes('updateUser'));
  for (const id of named) t.false(documented.includes(id), id);
});

test('writes are no GET, and are open to the scope admin alone', (t) => {
  for (const { id, kind, method, scopes } of operations) {
    t.is(kind === 'write', scopes.length === 0, id);
    if (kind === 'write' || method === 'GET') t.not(kind === 'write', method === 'GET', id);
    // PUT is the same operation as PATCH where there is something to change.
    if (method === 'PATCH') t.regex(id, /^update/);
  }
});

test('schemas of one name are of the same fields', (t) => {
  const answers = operations.flatMap((one) => ('answer' in one && one.answer ? [one.answer] : []));
  const bodies = operations.flatMap((one) => ('body' in one && one.body ? [one.body] : []));
  for (const [title, all] of Map.groupBy([...answers, ...bodies], (one) => one.title))
    t.is(new Set(all.map(({ fields }) => fields)).size, 1, title);
  for (const { wrapper, mode } of bodies) t.truthy(examples[wrapper]?.[mode], wrapper);
});

test('what a dry run may try, it can also undo: it writes', (t) => {
  for (const operation of operations)
    if ('isTriable' in operation) t.is(operation.kind, 'write', operation.id);
});
