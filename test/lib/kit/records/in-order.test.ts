// Rows in the order of their ids.

import test from 'ava';
import { inOrder } from '../../../../lib/kit/records/in-order.ts';

test('rows follow their ids', (t) => {
  t.deepEqual(inOrder(['b', 'x', 'a'], [{ id: 'a' }, { id: 'b' }]), [{ id: 'b' }, { id: 'a' }]);
});
