// The sentences that the command line prints for faults.

import test from 'ava';
import { faultsInWords, refusalOf } from '../../../lib/cli/fault-words.ts';
import {
  type FieldError,
  messages,
  oneOf,
  sentences,
} from '../../../lib/kit/validation/messages.ts';
import { UsageError } from '../../../lib/kit/process/usage-error.ts';

test('an invalid value is printed with an example of a valid one', (t) => {
  const faults = { role: [messages.invalid], email: [messages.taken] };
  const hints = { role: '--role unprivileged|admin', email: '--email E' };
  t.is(
    faultsInWords(faults, hints),
    'role: is invalid; give --role unprivileged|admin; email: has already been taken',
  );
});

test('where a hint says what to type, the words of the API are not named', (t) => {
  const faults = { protocol: [oneOf(['tcp', 'udp', 'icmp'])] };
  t.is(faultsInWords(faults), 'protocol: should be one of tcp, udp, icmp');
  t.is(faultsInWords(faults, { protocol: 'tcp/443' }), 'protocol: is invalid; give tcp/443');
});

test('each fault names its field, except faults of the whole', (t) => {
  const faults = {
    name: [messages.taken, messages.unseen],
    base: [messages.noOtherSignsIn],
  };
  t.is(
    faultsInWords(faults),
    `name: ${sentences.taken}; name: ${sentences.unseen}; ${sentences.noOtherSignsIn}`,
  );
});

test('a fault that is a sentence is kept apart from its field', (t) => {
  const faults = { role: [messages.lastAdministratorStays] };
  t.is(faultsInWords(faults), 'role: the last administrator cannot be demoted');
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
