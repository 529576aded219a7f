// From a table of what is answered to its schema and its type.

import test from 'ava';
import { answerSchema } from '../../../../lib/api/openapi/schemas.ts';
import {
  type AnswerOf,
  answerTable,
  schemaOfAnswer,
} from '../../../../lib/kit/validation/answers.ts';
import { resource, text } from '../../../../lib/kit/validation/fields.ts';
import { holds } from '../../../../models/fields/field.ts';

const things = answerTable({
  id: { kind: 'id', description: 'It.' },
  state: { kind: 'choice', description: 'How it is.', words: ['new', 'old'], nullable: true },
  ends: { kind: 'choices', description: 'Its ends.', words: ['left', 'right'] },
  others: { kind: 'ids', description: 'What is beside it.' },
  made_at: { kind: 'time', description: 'When it was made.', nullable: true },
  why: { kind: 'text', description: 'Why.', holds: holds<'so' | 'thus'>() },
  is_red: { kind: 'flag', description: 'Whether it is red.' },
  size: { kind: 'count', description: 'How great it is.' },
  rest: { kind: 'object', description: 'What else.' },
  place: {
    kind: 'record',
    description: 'Where it is.',
    nullable: true,
    of: { house: { kind: 'text', description: 'The house.' } },
  },
  parts: {
    kind: 'list',
    description: 'What it is made of.',
    of: { name: { kind: 'text', description: 'The name of the part.' } },
  },
  owners: {
    kind: 'list',
    description: 'Whose it is.',
    schema: resource({ name: text('A name.') }),
    holds: holds<{ readonly name: string }>(),
  },
});

/** The compiler sees that a value of each kind fits, and that nothing else does. */
const thing: AnswerOf<typeof things> = {
  id: '0193a0c0-0000-7000-8000-000000000001',
  state: 'new',
  ends: ['left'],
  others: [],
  made_at: null,
  why: 'so',
  is_red: true,
  size: 1,
  rest: { a: 1 },
  place: { house: 'a' },
  parts: [{ name: 'a' }],
  owners: [{ name: 'a' }],
};
// @ts-expect-error -- a word that the table does not have
thing.state satisfies 'new' | null;
// @ts-expect-error -- a field that may be null
thing.place satisfies { house: string };
// @ts-expect-error -- a narrower type than that of the kind
thing.why satisfies 'so';
thing.why satisfies 'so' | 'thus';

test('the schema has every field, in order; each is only answered', (t) => {
  const { properties, required, additionalProperties } = answerSchema(schemaOfAnswer(things)) as {
    properties: Record<string, object>;
    required: string[];
    additionalProperties: boolean;
  };
  t.deepEqual(Object.keys(properties), Object.keys(things));
  t.deepEqual(required, Object.keys(things));
  t.false(additionalProperties);
  for (const [name, { description }] of Object.entries(things))
    t.like(properties[name], { description, readOnly: true }, name);
});

test('each kind has its form', (t) => {
  const { properties } = answerSchema(schemaOfAnswer(things)) as {
    properties: Record<string, { items?: object; properties?: object; required?: string[] }>;
  };
  t.like(properties['id'], { type: 'string', format: 'uuid' });
  t.like(properties['state'], { type: ['string', 'null'], enum: ['new', 'old', null] });
  t.like(properties['ends'], { type: 'array', items: { enum: ['left', 'right'] } });
  t.like(properties['others'], { type: 'array', items: { format: 'uuid' } });
  t.like(properties['made_at'], { type: ['string', 'null'], format: 'date-time' });
  t.like(properties['is_red'], { type: 'boolean' });
  t.like(properties['size'], { type: 'integer', minimum: 0 });
  t.like(properties['rest'], { type: 'object' });
  t.deepEqual(properties['place']?.required, ['house'], 'what is always there is required');
  t.like(properties['parts']?.items, { required: ['name'], additionalProperties: false });
  t.like(properties['owners']?.items, { properties: { name: { type: 'string' } } });
});
