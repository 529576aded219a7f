// From a table of fields to the schema that validates requests: each part of a table has its
// effect.

import test from 'ava';
import { validatorOf } from '../../../../lib/kit/validation/validate.ts';
import {
  columnDefaults,
  columnsSent,
  schemaOf,
  sentColumns,
} from '../../../../lib/kit/validation/resource.ts';
import { fieldsOf } from '../../../../models/fields/field.ts';
import { validateInSentences } from '../../../support/api/in-sentences.ts';

const fields = fieldsOf({
  id: {
    column: { kind: 'id' },
    audit: 'nothing',
    api: { kind: 'id', description: 'It.', readOnly: true },
  },
  owner: {
    column: { kind: 'char', size: 36 },
    audit: 'value',
    api: { kind: 'reference', description: 'Whose.', required: true, createOnly: true },
  },
  colour: {
    column: { kind: 'text', size: 8, words: ['red', 'blue'], default: 'red' },
    audit: 'value',
    api: { kind: 'choice', description: 'How it looks.' },
  },
  size: {
    column: { kind: 'integer', nullable: true },
    audit: 'value',
    api: { kind: 'integer', description: 'How great it is.', min: 1, max: 9 },
  },
  note: {
    column: { kind: 'text', size: 4, nullable: true },
    audit: 'value',
    api: { kind: 'trimmed', description: 'A note.', atLeast: 2, atMost: 4, nullable: false },
  },
  shape: { api: { kind: 'ports', description: 'Read in a way of its own.' } },
  hidden: { column: { kind: 'flag', default: false }, audit: 'nothing' },
});

const schema = schemaOf(fields, {
  ports: ({ description }) => schemaOfShape().description(description),
});
const validate = validateInSentences(validatorOf<Record<string, unknown>>(schema));
const OWNER = '0193a0c0-0000-7000-8000-000000000001';

function schemaOfShape() {
  return schemaOf(fieldsOf({ at: { api: { kind: 'text', description: 'Where.' } } }), {});
}

test('a create needs what is required, and has the defaults of the columns', (t) => {
  t.deepEqual(validate({}, 'create'), {
    values: { colour: 'red' },
    errors: { owner: ["can't be blank"] },
  });
  t.deepEqual(validate({ owner: OWNER }, 'create').values, { owner: OWNER, colour: 'red' });
});

test('an update has no defaults, and does not take what only a create sets', (t) => {
  t.deepEqual(validate({ owner: OWNER, size: 3 }, 'update'), { values: { size: 3 }, errors: {} });
});

test('limits, words and null are those of the table', (t) => {
  t.deepEqual(Object.keys(validate({ size: 0, note: 'a', colour: 'green' }, 'update').errors), [
    'colour',
    'size',
    'note',
  ]);
  t.deepEqual(Object.keys(validate({ size: 10, note: 'abcde' }, 'update').errors), [
    'size',
    'note',
  ]);
  t.deepEqual(validate({ size: null, note: null }, 'update'), {
    values: { size: null },
    errors: { note: ["can't be blank"] },
  });
});

test('what is read-only, has no api or is unknown is ignored', (t) => {
  t.deepEqual(validate({ id: OWNER, hidden: true, other: 1 }, 'update'), {
    values: {},
    errors: {},
  });
});

test('a kind without a maker does not compile', (t) => {
  // @ts-expect-error Nobody says how ports are read.
  t.deepEqual(schemaOf(fields, {}).describe().keys['shape'], undefined);
});

test('the columns that a request sets are those with an api that may be sent', (t) => {
  t.deepEqual(sentColumns(fields), ['owner', 'colour', 'size', 'note']);
  t.deepEqual(columnsSent(fields, { colour: 'blue', shape: 1, note: undefined }), {
    colour: 'blue',
  } as object);
  t.deepEqual(columnDefaults(fields), { colour: 'red', size: null, note: null });
});
