// JSON Schemas of fields: what Joi says, what `meta` adds, and where null may stand.

import test from 'ava';
import {
  choice,
  entryList,
  flag,
  integer,
  mark,
  recordId,
  resource,
  text,
  timestamp,
  trimmed,
} from '../../../../lib/kit/validation/fields.ts';
import {
  answerSchema,
  type Json,
  parameterSchema,
  requestSchema,
} from '../../../../lib/api/openapi/schemas.ts';

const fields = resource({
  id: recordId('Id.'),
  owner: mark(trimmed('Owner.').required(), { createOnly: true }),
  name: trimmed('Name.').atLeast(1).atMost(9),
  size: integer('Size.', 1, 5).allow(null),
  kind: choice('Kind.', 'a', 'b').allow(null).default('a'),
  isOn: mark(flag('On.').default(true), { nullIsBlank: true }),
  secret: mark(text('Secret.').allow(null), { writeOnly: true }),
  own: mark(text('Own.').allow(null), { neverNull: true, json: { pattern: 'x' } }),
  ports: mark(text('Ports.').allow(null), {
    json: { type: ['string', 'integer'], minimum: 1 },
    shown: { type: 'string' },
  }),
  parts: entryList('Parts.', resource({ id: text('Id.').required(), label: text('Label.') })),
  inserted_at: timestamp('Time.'),
});

function propertiesOf(json: Json): Record<string, Json> {
  return json['properties'] as Record<string, Json>;
}

test('a create may leave out what is not required, and null leaves it out too', (t) => {
  const json = requestSchema(fields, 'create');
  t.deepEqual(json['required'], ['owner']);
  const { owner, name, size, kind, isOn, secret, parts, ...others } = propertiesOf(json);
  t.deepEqual(owner, { type: 'string', description: 'Owner.', minLength: 1 });
  t.deepEqual(name?.['type'], ['string', 'null']);
  t.like(name, { minLength: 1, maxLength: 9 });
  t.deepEqual(size?.['type'], ['integer', 'null']);
  t.like(size, { minimum: 1, maximum: 5 });
  t.deepEqual(kind?.['enum'], ['a', 'b', null]);
  t.is(kind?.['description'], 'Kind. Left out: `a`.');
  t.is(isOn?.['description'], 'On. Left out: `true`.');
  t.false(JSON.stringify(json).includes('"default"'));
  t.is(isOn?.['type'], 'boolean');
  t.is(secret?.['writeOnly'], true);
  t.deepEqual((parts!['items'] as Json)['required'], ['id']);
  t.deepEqual(Object.keys(others), ['own', 'ports']);
});

test('an update may leave out everything, and null only empties what can be empty', (t) => {
  const json = requestSchema(fields, 'update');
  t.is(json['required'], undefined);
  const { name, size, kind, isOn, own, ports, ...others } = propertiesOf(json);
  t.is(name?.['type'], 'string');
  t.deepEqual(size?.['type'], ['integer', 'null']);
  t.is(kind?.['default'], undefined);
  t.is(kind?.['description'], 'Kind.');
  t.is(isOn?.['type'], 'boolean');
  t.deepEqual(own?.['type'], ['string', 'null']);
  t.is(own?.['pattern'], 'x');
  t.deepEqual(ports?.['type'], ['string', 'integer', 'null']);
  t.deepEqual(Object.keys(others), ['secret', 'parts']);
});

test('an answer has every field that is shown, and nothing else', (t) => {
  const json = answerSchema(fields);
  t.is(json['additionalProperties'], false);
  const properties = propertiesOf(json);
  t.deepEqual(json['required'], Object.keys(properties));
  t.false('secret' in properties);
  t.is(properties['id']?.['readOnly'], true);
  t.is(properties['own']?.['type'], 'string');
  t.deepEqual(properties['ports'], {
    type: ['string', 'null'],
    description: 'Ports.',
    minLength: 1,
  });
  t.is((properties['parts']!['items'] as Json)['additionalProperties'], false);
  t.like(properties['inserted_at'], { format: 'date-time', type: 'string' });
});

test('a parameter has no description of its own', (t) => {
  t.deepEqual(parameterSchema(integer('Limit.', 1, 9)), {
    type: 'integer',
    minimum: 1,
    maximum: 9,
  });
});
