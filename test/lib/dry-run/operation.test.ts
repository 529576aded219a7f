// Which operations may be tried, and what is said of the others. What each does: dry-run.test.ts.

import test from 'ava';
import { ApiError } from '../../../lib/http/errors.ts';
import { judgeOperation, readOperation } from '../../../lib/dry-run/operation.ts';
import { inSentences } from '../../../lib/judge/judge.ts';

const read = (sent: object) => readOperation(judgeOperation(sent, 'create'));

test('an operation is read from its method and its path', (t) => {
  const body = { rule: { destination: '10.0.0.1' } };
  t.deepEqual(read({ method: 'POST', path: '/v0/rules', body }), {
    method: 'POST',
    collection: 'rules',
    id: null,
    body,
  });
  t.deepEqual(read({ method: 'DELETE', path: '/v0/users/ann%40example.com' }), {
    method: 'DELETE',
    collection: 'users',
    id: 'ann@example.com',
    body: {},
  });
  t.deepEqual(read({ method: 'POST', path: '/v0/groups/x%20/members', body: { members: {} } }), {
    method: 'POST',
    collection: 'members',
    id: 'x ',
    body: { members: {} },
  });
  t.is(read({ method: 'DELETE', path: '/v0/groups/x' }).collection, 'groups');
  t.is(read({ method: 'PUT', path: '/v0/devices/%E0%A4%A' }).id, '', 'nobody has such an id');
});

const wrong: [sent: object, faults: object][] = [
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

for (const [sent, faults] of wrong)
  test(`${JSON.stringify(sent)} is no operation that can be tried`, (t) => {
    const error = t.throws(() => read(sent), { instanceOf: ApiError });
    t.deepEqual(inSentences(error.faults ?? {}), faults);
  });
