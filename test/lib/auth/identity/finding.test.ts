// Findings: a sentence, and how good it is.

import test from 'ava';
import { bad, doubtful, good } from '../../../../lib/auth/identity/finding.ts';

test('a finding says how good it is', (t) => {
  t.deepEqual(
    [good('a'), doubtful('b'), bad('c')],
    [
      { verdict: 'good', text: 'a' },
      { verdict: 'doubtful', text: 'b' },
      { verdict: 'bad', text: 'c' },
    ],
  );
});
