// Whoever may only read gets null in place of secrets, and everything else as it is.

import test from 'ava';
import {
  listedWithoutSecrets,
  SECRET_FIELDS,
  withoutSecrets,
} from '../../../../lib/kit/records/secrets.ts';
import { configurationFields } from '../../../../models/fields/configuration.ts';
import { deviceFields } from '../../../../models/fields/device.ts';
import { type Field, type Fields } from '../../../../models/fields/field.ts';
import { policyTestFields } from '../../../../models/fields/policy-test.ts';
import { ruleFields } from '../../../../models/fields/rule.ts';
import { userFields } from '../../../../models/fields/user.ts';

test('every field that answers show and the audit trail hides is one of them', (t) => {
  const records: Fields[] = [
    configurationFields,
    deviceFields,
    policyTestFields,
    ruleFields,
    userFields,
  ];
  const hidden = records
    .flatMap((fields) => Object.entries<Field>(fields))
    .filter(([, { audit, api }]) => audit === 'secret' && api !== undefined && !api.writeOnly)
    .map(([name]) => name);
  t.deepEqual(hidden, ['preshared_key']);
  for (const name of hidden) t.true(SECRET_FIELDS.has(name), name);
});

test('secrets become null at any depth, and nothing else changes', (t) => {
  const shown = {
    name: 'laptop',
    preshared_key: 'abc',
    at: null,
    providers: [{ id: 'okta', client_secret: 'x', count: 0 }],
  };
  t.deepEqual(withoutSecrets(shown), {
    name: 'laptop',
    preshared_key: null,
    at: null,
    providers: [{ id: 'okta', client_secret: null, count: 0 }],
  });
  t.is(shown.preshared_key, 'abc', 'the value itself is remembered, and stays');
  t.deepEqual([...SECRET_FIELDS], ['preshared_key', 'client_secret']);
});

test('a list keeps its name, and hides the secrets of its records', async (t) => {
  const listed = {
    name: 'devices',
    filters: {},
    sources: [],
    list: async () => [{ id: '1', preshared_key: 'abc' }],
  };
  const hidden = listedWithoutSecrets(listed);
  t.is(hidden.name, 'devices');
  t.false('keepMs' in hidden);
  t.deepEqual(await hidden.list({ limit: 1 }), [{ id: '1', preshared_key: null }]);
});
