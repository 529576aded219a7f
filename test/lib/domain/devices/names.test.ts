// Generated names are names of WireGuard configurations.

import test from 'ava';
import { generateName } from '../../../../lib/domain/devices/names.ts';

test('a name has 1 to 15 characters that WireGuard takes', (t) => {
  const names = Array.from({ length: 2000 }, () => generateName(new Set()));
  for (const name of names) t.regex(name, /^[a-zA-Z0-9_=+.-]{1,15}$/);
  t.true(new Set(names).size > 1000);
});

test('a name is none of those that are taken', (t) => {
  const taken = new Set<string>();
  for (let i = 0; i < 5000; i += 1) {
    const name = generateName(taken);
    t.false(taken.has(name));
    taken.add(name);
  }
});

test('a name is found though every pair of words is taken', (t) => {
  const isPair = (name: string): boolean => !/^device-[a-z]{8}$/.test(name);
  const name = generateName({ has: isPair } as ReadonlySet<string>);
  t.regex(name, /^device-[a-z]{8}$/);
});
