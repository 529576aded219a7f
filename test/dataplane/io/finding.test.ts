// What a check of the host finds.

import test from 'ava';
import { good } from '../../../dataplane/io/finding.ts';

test('where all is well nothing is to be fixed', (t) => {
  t.deepEqual(good('tun', 'it is there'), {
    check: 'tun',
    level: 'ok',
    message: 'it is there',
    fix: null,
  });
});
