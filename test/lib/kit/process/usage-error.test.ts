// What tells wrong usage from other errors.

import test from 'ava';
import { messageOf } from '../../../../lib/kit/process/message.ts';
import { EXIT_USAGE, UsageError } from '../../../../lib/kit/process/usage-error.ts';

test('wrong usage is an error with a sentence, and has an exit code of its own', (t) => {
  t.is(messageOf(new UsageError('give --up')), 'give --up');
  t.is(EXIT_USAGE, 2);
});
