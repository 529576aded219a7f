// What nothing, null, "" and spaces mean, and which messages stand together.

import test from 'ava';
import fc from 'fast-check';
import {
  choice,
  entryList,
  flag,
  integer,
  mark,
  recordId,
  resource,
  text,
  trimmed,
} from '../../../../lib/kit/validation/fields.ts';
import {
  addError,
  type Errors,
  hasNoErrors,
  type Mode,
  validatorOf,
} from '../../../../lib/kit/validation/validate.ts';
import { messages, noPlace } from '../../../../lib/kit/validation/messages.ts';
import { validateInSentences } from '../../../support/api/in-sentences.ts';

const blank = ["can't be blank"];
const invalid = ['is invalid'];

const validate = validateInSentences(
  validatorOf<Record<string, unknown>>(
    resource({
      id: recordId('read-only'),
      owner: mark(text('create only').required(), { createOnly: true }),
      required: trimmed('required').required(),
      secret: text('required, never trimmed').required(),
      name: trimmed('at least one').atLeast(1).atMost(5),
      note: trimmed('may be null').atMost(5).allow(null),
      word: mark(choice('a word', 'accept', 'drop').default('drop'), { nullIsBlank: true }),
      flag: mark(flag('a flag').default(true), { nullIsBlank: true }),
      size: integer('a number', 5, 9).allow(null),
      entries: entryList(
        'records',
        resource({ id: text('id').required(), kind: text('kind').default('x') }),
      ),
    }),
  ),
);

const whole = { owner: 'o', required: 'r', secret: 's' };
const filled = { ...whole, word: 'drop', flag: true };

test('what is not sent, null, "" and spaces mean different things on create and on update', (t) => {
  const table: [mode: Mode, input: object, values: object, errors: object][] = [
    ['create', whole, filled, {}],
    ['create', {}, { word: 'drop', flag: true }, { owner: blank, required: blank, secret: blank }],
    ['create', { ...whole, required: '' }, { ...filled, required: undefined }, { required: blank }],
    [
      'create',
      { ...whole, required: ' ' },
      { ...filled, required: undefined },
      { required: blank },
    ],
    ['create', { ...whole, secret: '  ' }, { ...filled, secret: undefined }, { secret: blank }],
    [
      'create',
      { ...whole, required: null },
      { ...filled, required: undefined },
      { required: blank },
    ],
    ['create', { ...whole, name: '' }, filled, {}],
    ['create', { ...whole, name: null }, filled, {}],
    ['create', { ...whole, note: '  ' }, filled, {}],
    ['create', { ...whole, word: '' }, filled, {}],
    ['create', { ...whole, word: null }, { ...whole, flag: true }, { word: blank }],
    ['create', { ...whole, flag: null }, { ...whole, word: 'drop' }, { flag: blank }],
    ['create', { ...whole, flag: '' }, filled, {}],
    ['create', { ...whole, id: 'x', other: 1 }, filled, {}],
    ['update', {}, {}, {}],
    ['update', { owner: 5, id: 5, other: 5 }, {}, {}],
    ['update', { required: '' }, {}, { required: blank }],
    ['update', { required: ' ' }, {}, { required: blank }],
    ['update', { secret: '   ' }, {}, { secret: blank }],
    ['update', { note: '' }, { note: null }, {}],
    ['update', { note: '  ' }, { note: null }, {}],
    ['update', { note: null }, { note: null }, {}],
    ['update', { name: null }, {}, { name: blank }],
    ['update', { name: '' }, {}, { name: blank }],
    ['update', { word: null }, {}, { word: blank }],
    ['update', { word: '' }, {}, { word: blank }],
    ['update', { flag: null }, {}, { flag: blank }],
    ['update', { flag: '' }, {}, { flag: blank }],
    ['update', { size: '' }, { size: null }, {}],
    ['update', { entries: null }, {}, { entries: blank }],
  ];
  for (const [mode, input, values, errors] of table) {
    const validated = validate(input, mode);
    const label = `${mode} ${JSON.stringify(input)}`;
    t.deepEqual(validated.errors, errors as typeof validated.errors, label);
    t.deepEqual(
      JSON.parse(JSON.stringify(validated.values)),
      JSON.parse(JSON.stringify(values)),
      label,
    );
  }
});

test('spaces alone are too short where a field says how long it must be', (t) => {
  for (const mode of ['create', 'update'] as const)
    t.deepEqual(validate({ ...whole, name: '  ' }, mode).errors, {
      name: ['should be at least 1 character(s)'],
    });
});

test('numbers may be sent as text, fractions and other texts cannot be read', (t) => {
  const table: [sent: unknown, read: unknown, errors: string[] | undefined][] = [
    [7, 7, undefined],
    ['7', 7, undefined],
    ['+7', 7, undefined],
    [4, 4, ['must be greater than or equal to 5']],
    ['-7', -7, ['must be greater than or equal to 5']],
    [10, 10, ['must be less than or equal to 9']],
    [1e300, 1e300, ['must be less than or equal to 9']],
    [Infinity, Number.MAX_VALUE, ['must be less than or equal to 9']],
    [-Infinity, -Number.MAX_VALUE, ['must be greater than or equal to 5']],
    ['9'.repeat(400), Number.MAX_VALUE, ['must be less than or equal to 9']],
    [7.5, undefined, invalid],
    ['7.0', undefined, invalid],
    ['7e0', undefined, invalid],
    [' 7', undefined, invalid],
    ['seven', undefined, invalid],
    [true, undefined, invalid],
    [[7], undefined, invalid],
    [{}, undefined, invalid],
  ];
  for (const [size, read, errors] of table) {
    const validated = validate({ size }, 'update');
    t.is(validated.values['size'], read, String(size));
    t.deepEqual(validated.errors['size'], errors, String(size));
  }
});

test('booleans are true, false, or the texts true, false, 1 and 0', (t) => {
  const good: [unknown, boolean][] = [
    [true, true],
    [false, false],
    ['true', true],
    ['false', false],
    ['1', true],
    ['0', false],
  ];
  for (const [sent, read] of good) t.is(validate({ flag: sent }, 'update').values['flag'], read);
  for (const bad of [1, 0, 'TRUE', 'yes', ' true', [], {}, ' '])
    t.deepEqual(validate({ flag: bad }, 'update').errors, { flag: invalid }, JSON.stringify(bad));
});

test('a text is checked by code points and refused when no database could keep it', (t) => {
  t.deepEqual(validate({ name: '😀😀😀😀😀' }, 'update').errors, {});
  t.deepEqual(validate({ name: '😀😀😀😀😀😀' }, 'update').errors, {
    name: ['should be at most 5 character(s)'],
  });
  t.is(validate({ name: '  ab  ' }, 'update').values['name'], 'ab');
  for (const bad of ['a\0b', '\ud800', 'a\udc00', 5, true, ['a'], {}])
    t.deepEqual(validate({ name: bad }, 'update').errors, { name: invalid }, JSON.stringify(bad));
});

test('a list of records is checked record by record, each as a create', (t) => {
  const table: [sent: unknown, errors: object][] = [
    [[{ id: 'a' }, { id: 'b' }], {}],
    [[], {}],
    [[{ id: 'a' }, {}], { entries: [{}, { id: blank }] }],
    [[{ id: 'a' }, { id: 'a' }], { entries: [{}, { id: ['has already been taken'] }] }],
    [[{ id: 'a', kind: 5 }], { entries: [{ kind: invalid }] }],
    [{}, { entries: invalid }],
    ['a', { entries: invalid }],
    [[1], { entries: invalid }],
    [[null], { entries: invalid }],
    [[[]], { entries: invalid }],
  ];
  for (const [entries, errors] of table)
    t.deepEqual(validate({ entries }, 'update').errors, errors as object, JSON.stringify(entries));
  t.deepEqual(validate({ entries: [{ id: 'a', kind: null }] }, 'update').values['entries'], [
    { id: 'a', kind: 'x' },
  ]);
});

test('properties that objects inherit are no fields', (t) => {
  const input = JSON.parse('{"__proto__": {"name": "x"}, "constructor": 1, "name": "y"}') as object;
  t.deepEqual(validate(input, 'update'), { values: { name: 'y' }, errors: {} });
  t.deepEqual(validate(JSON.parse('{"__proto__": {"name": "x"}}') as object, 'update').values, {});
});

test('a message is added once, beside those that stand', (t) => {
  const { blank, invalid, taken } = messages;
  const errors: Errors = { a: [blank] };
  addError(errors, 'a', invalid);
  addError(errors, 'a', blank);
  addError(errors, 'b', taken);
  for (const line of [2, 3, 2]) addError(errors, 'b', { ...taken, line });
  for (const most of [3, 4, 3]) addError(errors, 'c', noPlace(most));
  addError(errors, 'c', messages.blank);
  const c = [noPlace(3), noPlace(4), messages.blank];
  t.deepEqual(errors, {
    a: [blank, invalid],
    b: [taken, { ...taken, line: 2 }, { ...taken, line: 3 }],
    c,
  });
  t.true(hasNoErrors({}));
  t.false(hasNoErrors(errors));
});

test('no input whatsoever makes the validator throw', (t) => {
  const anything = fc.anything({ withNullPrototype: true, withBigInt: false });
  const input = fc.dictionary(
    fc.constantFrom('owner', 'required', 'name', 'note', 'word', 'flag', 'size', 'entries'),
    anything,
  );
  fc.assert(
    fc.property(input, fc.constantFrom<Mode>('create', 'update'), (record, mode) => {
      const { errors } = validate(record, mode);
      for (const messages of Object.values(errors)) t.true(Array.isArray(messages));
    }),
    { numRuns: 300 },
  );
  t.pass();
});
