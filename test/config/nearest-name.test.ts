// Letters that were added, left out, changed or exchanged; and names that are too far away.

import test from 'ava';
import { nearestName } from '../../config/nearest-name.ts';

const known = ['user', 'name', 'answers', 'mtu'];

test('a slip leads to the name that was meant', (t) => {
  for (const [name, meant] of [
    ['nme', 'name'],
    ['nname', 'name'],
    ['nime', 'name'],
    ['anme', 'name'],
    ['anwser', 'answers'],
  ] as const)
    t.is(nearestName(name, known, 2), meant, name);
});

test('the nearest of several is meant, and none that is too far', (t) => {
  t.is(nearestName('mtua', ['mt', 'mtu'], 2), 'mtu');
  t.is(nearestName('foo', known, 1), null);
  t.is(nearestName('nme', known, 0), null);
});
