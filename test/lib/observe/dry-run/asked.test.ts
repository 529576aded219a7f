// Which operations may be tried, and what is said of the others. What each does: dry-run.test.ts.

import test from 'ava';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { findAsked, validateAsked } from '../../../../lib/observe/dry-run/asked.ts';
import { inSentences } from '../../../../lib/kit/validation/validate.ts';
import { operations } from '../../../../lib/rooms.ts';

const triable = operations.filter((one) => one.kind === 'write' && one.isTriable === true);

const find = (sent: object) => {
  const { operation, params } = findAsked(triable, validateAsked(sent, 'create'));
  return [operation.id, params];
};

test('an operation is found by its method and its path', (t) => {
  t.deepEqual(find({ method: 'POST', path: '/v0/rules' }), ['createRule', {}]);
  const ann = { method: 'DELETE', path: '/v0/users/ann%40example.com' };
  t.deepEqual(find(ann), ['deleteUser', { id: 'ann@example.com' }]);
  const members = { method: 'POST', path: '/v0/groups/x%20/members' };
  t.deepEqual(find(members), ['changeGroupMembers', { id: 'x ' }]);
  t.deepEqual(find({ method: 'DELETE', path: '/v0/groups/x' }), ['deleteGroup', { id: 'x' }]);
  const put = { method: 'PUT', path: '/v0/devices/%E0%A4%A' };
  t.deepEqual(find(put), ['updateDevice', { id: '' }], 'nobody has such an id');
});

test('only writes of rules, devices, users, groups and members can be tried', (t) => {
  const one = (title: string) => [`create${title}`, `delete${title}`, `update${title}`];
  t.deepEqual(
    triable.map(({ id }) => id).toSorted(),
    [...['Device', 'Group', 'Rule', 'User'].flatMap(one), 'changeGroupMembers'].toSorted(),
  );
});

const wrong: [sent: object, errors: object][] = [
  [{}, { method: ["can't be blank"], path: ["can't be blank"] }],
  [{ method: 'GET', path: '/v0/rules' }, { method: ['should be one of POST, PATCH, PUT, DELETE'] }],
  [{ method: 'POST', path: '/v0/rules', body: 'x' }, { body: ['is invalid'] }],
  ...[
    '/v0/rules/',
    '/v0/configuration',
    'rules',
    '/v0/rules?x=1',
    '/v0/rules/a/b',
    '/v0/rules/a/members',
    '/v0/groups/a/members/b',
    '/v0/rulesx',
  ].map((path): [object, object] => [
    { method: 'POST', path },
    {
      path: [
        'is not /v0/rules, /v0/devices, /v0/users or /v0/groups, one of them with /{id}, or /v0/groups/{id}/members',
      ],
    },
  ]),
  [
    { method: 'POST', path: '/v0/rules/x' },
    { path: ['must not name a record: POST makes a new one'] },
  ],
  [
    { method: 'DELETE', path: '/v0/groups/x/members' },
    { method: ['must be POST for the members of a group: it adds and removes them'] },
  ],
  [{ method: 'PATCH', path: '/v0/rules' }, { path: ['must name the record: /{id} is missing'] }],
];

for (const [sent, errors] of wrong)
  test(`${JSON.stringify(sent)} is no operation that can be tried`, (t) => {
    const error = t.throws(() => find(sent), { instanceOf: ApiError });
    t.deepEqual(inSentences(error.errors ?? {}), errors);
  });
