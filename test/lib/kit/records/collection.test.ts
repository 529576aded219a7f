// What the filter of an owner selects.

import test from 'ava';
import { selectOwner } from '../../../../lib/kit/records/collection.ts';

test('an id in any case selects what its user owns, and what is no id selects nothing', (t) => {
  const id = '0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
  t.deepEqual(selectOwner(id.toUpperCase()), { userId: id });
  for (const text of ['', 'x', id.slice(1), `${id} `]) t.is(selectOwner(text), null, text);
});
