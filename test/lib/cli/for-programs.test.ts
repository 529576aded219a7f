// What programs read of records stays as they know it.

import test from 'ava';
import { forPrograms } from '../../../lib/cli/for-programs.ts';

test('later fields are there where they say something, and others always', (t) => {
  const user = { id: '1', email: 'ann@example.com', name: null, disabled_at: null };
  t.deepEqual(Object.keys(forPrograms(user)), ['id', 'email', 'disabled_at']);
  const named = { ...user, name: 'Ann' };
  t.deepEqual(forPrograms(named), named);
  t.deepEqual(Object.keys(forPrograms(named)), Object.keys(user), 'in their order');
  t.deepEqual(forPrograms({ enabled: false, disabled_by: 'owner' }), {
    enabled: false,
    disabled_by: 'owner',
  });
});
