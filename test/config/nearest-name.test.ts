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

/** Slips by their definition: from the last letter on, every way is tried. */
function lettersBetween(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const [a1, b1] = [a.slice(0, -1), b.slice(0, -1)];
  return Math.min(
    lettersBetween(a1, b) + 1,
    lettersBetween(a, b1) + 1,
    lettersBetween(a1, b1) + (a.at(-1) === b.at(-1) ? 0 : 1),
  );
}

/** Two neighbours that changed places are one slip. */
function slipsBetween(a: string, b: string, exchanges = 3): number {
  if (exchanges === 0) return lettersBetween(a, b);
  const exchanged = Array.from({ length: Math.max(0, a.length - 1) }, (_, i) =>
    [a.slice(0, i), a[i + 1], a[i], a.slice(i + 2)].join(''),
  );
  const ways = exchanged.map((one) => slipsBetween(one, b, exchanges - 1) + 1);
  return Math.min(lettersBetween(a, b), ...ways);
}

test('the fewest slips count, whatever the limit is', (t) => {
  const words = [
    'a',
    'b',
    'ab',
    'ba',
    'abc',
    'acb',
    'bca',
    'abca',
    'baac',
    'cabb',
    'abcab',
    'bacba',
  ];
  for (const a of words)
    for (const b of words)
      for (let limit = 0; limit < 4; limit++)
        t.is(nearestName(a, [b], limit) === b, slipsBetween(a, b) <= limit, `${a} ${b} ${limit}`);
});
