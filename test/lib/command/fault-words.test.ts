// Faults in words.

import test from 'ava';
import { faultsInWords } from '../../../lib/command/fault-words.ts';

test('a value that is none is told with what can be typed', (t) => {
  const faults = { role: ['is invalid'], email: ['has already been taken'] };
  const hints = { role: '--role unprivileged|admin', email: '--email E' };
  t.is(
    faultsInWords(faults, hints),
    'role is invalid; give --role unprivileged|admin; email has already been taken',
  );
});

test('each fault names its field, but for those of the whole', (t) => {
  const faults = { name: ['is taken', 'is short'], base: ['There are too many'] };
  t.is(faultsInWords(faults), 'name is taken; name is short; There are too many');
});
