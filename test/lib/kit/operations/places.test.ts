// Where operations are that commands perform: each place is that of one operation.

import test from 'ava';
import {
  type OperationName,
  placed,
  places,
  recordPlace,
} from '../../../../lib/kit/operations/places.ts';
import { allOperations } from '../../../../lib/rooms.ts';

test('each name is that of an operation that writes there', (t) => {
  for (const name of Object.keys(places) as OperationName[]) {
    const found = allOperations.find(({ id }) => id === name);
    const { id, method, path, kind } = found ?? {};
    t.deepEqual({ id, method, path }, placed(name), name);
    t.is(kind, 'write', name);
  }
});

test('the writes of a kind of records are named alike', (t) => {
  t.deepEqual(recordPlace('create', 'rules', 'Rule'), {
    id: 'createRule',
    method: 'POST',
    path: '/v0/rules',
  });
  const one = '/v0/policy_tests/{id}';
  t.deepEqual(
    [
      recordPlace('update', 'policy_tests', 'PolicyTest'),
      recordPlace('delete', 'policy_tests', 'PolicyTest'),
    ],
    [
      { id: 'updatePolicyTest', method: 'PATCH', path: one },
      { id: 'deletePolicyTest', method: 'DELETE', path: one },
    ],
  );
});
