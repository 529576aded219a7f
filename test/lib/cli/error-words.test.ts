// The sentences that the command line prints for errors.

import test from 'ava';
import { errorsInWords, refusalOf } from '../../../lib/cli/error-words.ts';
import {
  type FieldError,
  messages,
  oneOf,
  sentences,
} from '../../../lib/kit/validation/messages.ts';
import { UsageError } from '../../../lib/kit/process/usage-error.ts';

test('an invalid value is printed with an example of a valid one', (t) => {
  const errors = { role: [messages.invalid], email: [messages.taken] };
  const hints = { role: '--role unprivileged|admin', email: '--email E' };
  t.is(
    errorsInWords(errors, hints),
    'role: is invalid; give --role unprivileged|admin; email: has already been taken',
  );
});

test('where a hint says what to type, the words of the API are not named', (t) => {
  const errors = { protocol: [oneOf(['tcp', 'udp', 'icmp'])] };
  t.is(errorsInWords(errors), 'protocol: should be one of tcp, udp, icmp');
  t.is(errorsInWords(errors, { protocol: 'tcp/443' }), 'protocol: is invalid; give tcp/443');
});

test('each error names its field, except errors of the whole', (t) => {
  const errors = {
    name: [messages.taken, messages.unseen],
    base: [messages.noOtherSignsIn],
  };
  t.is(
    errorsInWords(errors),
    `name: ${sentences.taken}; name: ${sentences.unseen}; ${sentences.noOtherSignsIn}`,
  );
});

test('an error that is a sentence is kept apart from its field', (t) => {
  const errors = { role: [messages.lastAdministratorStays] };
  t.is(errorsInWords(errors), 'role: the last administrator cannot be demoted');
});

test('a value that no row could make right is wrong usage', (t) => {
  const atLeast: FieldError = { code: 'atLeast', values: { limit: 64_000 } };
  for (const error of [
    messages.invalid,
    messages.blank,
    atLeast,
    oneOf(['json', 'csv']),
    messages.badStep,
    messages.badTime,
  ])
    t.true(refusalOf({ limit: [error] }) instanceof UsageError, error.code);
  const refused = refusalOf({ email: [messages.taken] }, {}, '; try another');
  t.false(refused instanceof UsageError);
  t.is(refused.message, 'email: has already been taken; try another');
});
