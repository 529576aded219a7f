// Faults in words.

import test from 'ava';
import { faultsInWords } from '../../lib/fault-words.ts';

test('each fault names its field, but for those of the whole', (t) => {
  const faults = { name: ['is taken', 'is short'], base: ['There are too many'] };
  t.is(faultsInWords(faults), 'name is taken; name is short; There are too many');
});
