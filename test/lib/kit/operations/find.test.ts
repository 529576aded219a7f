// Which operation a method and a path ask for, and which an id.

import test from 'ava';
import type { Rules } from '../../../../lib/domain/rules/rules.ts';
import { ruleOperations } from '../../../../lib/domain/rules/operations.ts';
import { answersTo, operationsAt, writeNamed } from '../../../../lib/kit/operations/find.ts';
import type { Operation } from '../../../../lib/kit/operations/operation.ts';

const paths = ['/v0/rules', '/v0/rules/{id}', '/v0/groups/{id}/members/{user}'];
const found = (path: string) =>
  operationsAt(
    paths.map((one) => ({ path: one })),
    path,
  ).map(({ operation, params }) => [operation.path, params]);

test('parts of a path are decoded', (t) => {
  t.deepEqual(found('/v0/rules'), [['/v0/rules', {}]]);
  t.deepEqual(found('/v0/rules/a%20b'), [['/v0/rules/{id}', { id: 'a b' }]]);
  const member = { id: 'g', user: 'ann@x.y' };
  t.deepEqual(found('/v0/groups/g/members/ann%40x.y'), [[paths[2], member]]);
  t.deepEqual(found('/v0/rules/%E0%A4%A'), [['/v0/rules/{id}', { id: '' }]]);
});

test('other paths are those of no operation', (t) => {
  for (const path of [
    '',
    '/',
    '/v0/rules/',
    '/v0/rules?x',
    '/v0/rules/a?b',
    '/v0/rules/a/b',
    '/V0/rules',
  ])
    t.deepEqual(found(path), [], path);
});

test('PUT asks for an operation of PATCH, and nothing else is another method', (t) => {
  t.true(answersTo({ method: 'PATCH' }, 'PUT'));
  t.false(answersTo({ method: 'PUT' }, 'PATCH'));
  t.false(answersTo({ method: 'POST' }, 'PUT'));
  t.true(answersTo({ method: 'DELETE' }, 'DELETE'));
});

test('an id names one operation, and an unknown one is an error of the program', (t) => {
  const all: readonly Operation<{ rules: Rules }>[] = ruleOperations;
  const updated = all.find(({ id }) => id === 'updateRule');
  t.is(writeNamed(all, 'updateRule') as unknown, updated as unknown);
  t.throws(() => writeNamed(all, 'rule'), { message: 'no operation is called rule' });
  t.throws(() => writeNamed(all, 'showRule'), { message: 'showRule writes nothing' });
});
