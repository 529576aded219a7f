// What perform does around the function of an operation.

import test from 'ava';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { resource, text } from '../../../../lib/kit/validation/fields.ts';
import { validatorOf } from '../../../../lib/kit/validation/validate.ts';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { type Performed, queryOf, write } from '../../../../lib/kit/operations/operation.ts';
import { perform } from '../../../../lib/kit/operations/perform.ts';
import type { Caller } from '../../../../lib/kit/process/caller.ts';
import { COMMAND_LINE } from '../../../../models/index.ts';

interface Values {
  readonly name?: string;
}

const fields = resource({ name: text('A name.').required() });
const asked = resource({ word: text('A word.').atMost(3) });

const echo = write<{ readonly heard: unknown[] }, Values, { readonly word?: string }>({
  id: 'echo',
  method: 'POST',
  path: '/v0/echo/{id}',
  tag: 'echo',
  scopes: [],
  summary: 'Echo',
  query: queryOf(asked, validatorOf<{ readonly word?: string }>(asked)),
  body: {
    wrapper: 'echo',
    title: 'Echo',
    fields,
    validate: validatorOf<Values>(fields),
    mode: 'create',
  },
  answer: { title: 'Echo', fields, description: 'The echo.' },
  run: async ({ heard }, _caller, input) => {
    heard.push(input);
    return { ...input.body.values, preshared_key: 'secret' };
  },
}) as Performed<{ readonly heard: unknown[] }>;

const caller = (seesSecrets: boolean): Caller => ({
  origin: COMMAND_LINE,
  letIn: null,
  userId: null,
  seesSecrets,
  revision: null,
});

const sent = (body: unknown, search = '') => ({
  params: { id: '5' },
  query: new URLSearchParams(search),
  body,
});

test('the function of an operation gets what was sent, validated', async (t) => {
  const heard: unknown[] = [];
  const body = { echo: { name: 'a', other: 1 } };
  const answer = await perform(echo, { heard }, caller(true), sent(body, 'word=yes'));
  t.deepEqual(answer, { name: 'a', preshared_key: 'secret' });
  t.deepEqual(heard, [
    { params: { id: '5' }, query: { word: 'yes' }, body: { values: { name: 'a' }, errors: {} } },
  ]);
});

test('errors of the record are for the function; a missing record and a bad query are not', async (t) => {
  const heard: { body: { errors: object } }[] = [];
  await perform(echo, { heard }, caller(true), sent({ echo: {} }));
  t.deepEqual(Object.keys(heard[0]?.body.errors ?? {}), ['name']);
  for (const body of [null, 5, {}, { echo: null }, { echo: 'x' }, Object.create({ echo: {} })]) {
    const error = await t.throwsAsync(perform(echo, { heard }, caller(true), sent(body)), {
      instanceOf: ApiError,
    });
    t.is(error.code, 'missing_wrapper');
    t.deepEqual(error.errors, { echo: [messages.blank] });
  }
  const bad = perform(echo, { heard }, caller(true), sent({ echo: {} }, 'word=long'));
  t.is((await t.throwsAsync(bad, { instanceOf: ApiError })).code, 'unprocessable');
  t.is(heard.length, 1);
});

test('who may not see secrets gets null in their place', async (t) => {
  const answer = await perform(echo, { heard: [] }, caller(false), sent({ echo: { name: 'a' } }));
  t.deepEqual(answer, { name: 'a', preshared_key: null });
});

test('errors that the door found count where the record has none of that field', async (t) => {
  const heard: { body: { errors: object } }[] = [];
  const errors = { name: [messages.invalid], word: [messages.invalid] };
  await perform(echo, { heard }, caller(true), { ...sent({ echo: {} }), errors });
  t.deepEqual(heard[0]?.body.errors, { name: [messages.blank], word: [messages.invalid] });
});
