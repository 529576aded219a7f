// The shape of a dump: answers as they were given, or without their wrapper; anything else is an
// error.

import test from 'ava';
import { parseFirezoneDump } from '../../../../lib/installation/imports/firezone-dump.ts';

test('answers are taken with and without `data`, and what is left out is empty', (t) => {
  const dump = {
    users: { data: [{ id: 'a' }] },
    rules: [{ id: 'b' }],
    configuration: { data: {} },
  };
  t.deepEqual(parseFirezoneDump(JSON.stringify(dump)), {
    users: [{ id: 'a' }],
    devices: [],
    rules: [{ id: 'b' }],
    configuration: {},
    errors: [],
  });
});

test('what has another shape is an error with its place', (t) => {
  const dump = { users: { data: {} }, devices: [1, null], configuration: [], gadgets: [] };
  t.deepEqual(parseFirezoneDump(JSON.stringify(dump)).errors, [
    'gadgets is not known; a dump has users, devices, rules and configuration',
    'users is no list',
    'devices[0] is no object',
    'devices[1] is no object',
    'configuration is no object',
  ]);
});

test('what the old server answered in place of records is said', (t) => {
  const refused = { errors: { auth: 'invalid_token' } };
  const dump = { users: refused, devices: { error: 'not_found' }, configuration: refused };
  const { errors, configuration } = parseFirezoneDump(JSON.stringify(dump));
  t.deepEqual(errors, [
    'the old server refused to give users: {"auth":"invalid_token"}; check the token',
    'the old server refused to give devices: "not_found"; check the token',
    'the old server refused to give configuration: {"auth":"invalid_token"}; check the token',
  ]);
  t.deepEqual(configuration, refused);
});

for (const text of ['', '{', '[]', '{"data":[]}', 'null', '{"errors":{"auth":"unauthenticated"}}'])
  test(`${JSON.stringify(text)} is no dump`, (t) => {
    t.throws(() => parseFirezoneDump(text), {
      message: /^the dump is (not valid JSON|one JSON obj)/,
    });
  });
