// Whose a key was: replaced keys and those of deleted devices, as long as not too many came after.

import test from 'ava';
import { FormerKeys } from '../../../lib/reconcile/former-keys.ts';

test('a key is known as replaced, or as that of a deleted device', (t) => {
  const keys = new FormerKeys();
  keys.noteReplaced('a', 'laptop');
  keys.noteDeleted('b', { id: 'phone', ownerId: 'ann' });
  t.is(keys.formerDeviceOf('a'), 'laptop');
  t.is(keys.formerDeviceOf('b'), null);
  t.deepEqual(keys.deletedDeviceOf('b'), { id: 'phone', ownerId: 'ann' });
  t.is(keys.deletedDeviceOf('a'), null);
  t.deepEqual(keys.keysOfDeleted('phone'), ['b']);
  t.deepEqual(keys.keysOfDeleted('laptop'), []);
});

test('the oldest of more than a thousand keys is forgotten, of each kind by itself', (t) => {
  const keys = new FormerKeys();
  keys.noteDeleted('gone', { id: 'phone', ownerId: 'ann' });
  for (let i = 0; i <= 1_000; i += 1) keys.noteReplaced(`key ${i}`, `device ${i}`);
  t.is(keys.formerDeviceOf('key 0'), null);
  t.is(keys.formerDeviceOf('key 1'), 'device 1');
  t.is(keys.deletedDeviceOf('gone')?.id, 'phone');
});
