// What a form's write comes to: only a refusal of its values is shown at the fields.

import test from 'ava';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { attempt, errorLine } from '../../../../lib/web/kit/attempt.ts';

test('a refusal is an answer, anything else is thrown on', async (t) => {
  t.deepEqual(await attempt(async () => 1), { result: 1, errors: null });
  const errors = { name: [messages.invalid] };
  const refused = async () => {
    throw new ApiError('unprocessable', { errors });
  };
  t.deepEqual(await attempt(refused), { errors });
  const missing = async () => {
    throw new ApiError('not_found');
  };
  await t.throwsAsync(attempt(missing), { message: 'not_found' });
});

test('all messages make one line', (t) => {
  t.is(
    errorLine({ base: ['no'], name: ['a', 'b'], list: [{ id: ['x'] }] }),
    'no; name: a; name: b',
  );
  t.is(errorLine({ enabled: ['a'], name: ['b'] }, 'enabled'), 'a; name: b', 'its name is known');
});
