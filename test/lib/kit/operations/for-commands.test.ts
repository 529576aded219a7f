// Operations as commands ask for them, in their own process or at the gateway.

import test from 'ava';
import { commandLineCaller } from '../../../../lib/cli/perform.ts';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { performForCommand } from '../../../../lib/kit/operations/for-commands.ts';
import { write } from '../../../../lib/kit/operations/operation.ts';
import { joi, resource, text } from '../../../../lib/kit/validation/fields.ts';
import { validatorOf } from '../../../../lib/kit/validation/validate.ts';

interface Rooms {
  readonly ran: object[];
}

const fields = resource({ name: text('A name.').required(), size: joi.number() });
const operation = write<Rooms, { name?: string }, { force?: boolean }>({
  id: 'rename',
  method: 'PATCH',
  path: '/v0/things/{id}',
  tag: 'things',
  scopes: [],
  summary: 'Rename a thing',
  body: { wrapper: 'thing', title: 'Thing', fields, validate: validatorOf(fields), mode: 'create' },
  answer: { title: 'Thing', fields, description: 'The thing.' },
  query: {
    schemas: {},
    read: (sent) => ({ force: sent.get('force') === 'true' }),
  },
  async run({ ran }, caller, { params, body: { values, errors }, query }) {
    ran.push({ params, values, hasErrors: Object.keys(errors).length > 0, ...query });
    caller.failing = 2;
    return { id: params['id'] ?? '', name: values.name ?? '' };
  },
});
const asked = { validatesFirst: false, force: false, params: { id: '7' } };

function performed(rooms: Rooms, request: Parameters<typeof performForCommand>[3]) {
  if (operation.kind !== 'write') throw new Error('it writes');
  return performForCommand(operation, rooms, commandLineCaller(), request);
}

test('what was sent is run, and the policy tests that fail then are counted', async (t) => {
  const rooms = { ran: [] };
  const body = { thing: { name: 'x' } };
  const done = await performed(rooms, { ...asked, body, force: true });
  t.deepEqual(done, { answer: { id: '7', name: 'x' }, failing: 2 });
  t.like(rooms.ran[0], { params: { id: '7' }, force: true, hasErrors: false });
});

test('the operation gets the errors of a body, or the body is refused before it', async (t) => {
  const rooms = { ran: [] };
  await performed(rooms, { ...asked, body: { thing: {} } });
  t.like(rooms.ran[0], { hasErrors: true, force: false });
  const refused = performed(rooms, { ...asked, body: { thing: {} }, validatesFirst: true });
  const { errors } = (await t.throwsAsync(refused, { instanceOf: ApiError })) as ApiError;
  t.deepEqual(Object.keys(errors ?? {}), ['name']);
  t.is(rooms.ran.length, 1);
});

test('where what was named does not exist, the body is validated and nothing is run', async (t) => {
  const rooms = { ran: [] };
  const nowhere = { ...asked, params: null };
  await t.throwsAsync(performed(rooms, { ...nowhere, body: { thing: {} } }), {
    instanceOf: ApiError,
  });
  const done = await performed(rooms, { ...nowhere, body: { thing: { name: 'x' } } });
  t.deepEqual(done, { answer: null, failing: 0 });
  t.deepEqual(rooms.ran, []);
});
