// Only A to Z are folded: a letter that looks like one of them, or becomes one, stays.

import test from 'ava';
import { foldAscii } from '../../../models/storage/fold.ts';

for (const [text, folded] of [
  ['Ann.B@Example.COM', 'ann.b@example.com'],
  // The Kelvin sign, which toLowerCase makes a k, and I with a dot.
  ['\u212Aate@b.test', '\u212Aate@b.test'],
  ['\u0130NGRID', '\u0130ngrid'],
  ['ÄÖ-09[]', 'ÄÖ-09[]'],
  ['', ''],
] as const)
  test(`"${text}" is folded to "${folded}"`, (t) => {
    t.is(foldAscii(text), folded);
  });
