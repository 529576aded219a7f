// The list of reasons.

import test from 'ava';
import { reasonNames, reasons } from '../../dataplane/reasons.ts';

test('none is zero, so that a refusal is true', (t) => {
  t.is(reasons.none, 0);
});

test('each name is one number and each number one name', (t) => {
  t.is(new Set(reasonNames).size, reasonNames.length);
  t.deepEqual(
    reasonNames.map((name) => reasons[name]),
    reasonNames.map((_, i) => i),
  );
});

test('names are what a metric label may be', (t) => {
  for (const name of reasonNames) t.regex(name, /^[a-z][a-z0-9_]*$/);
});

test('the list cannot be changed at run time', (t) => {
  t.true(Object.isFrozen(reasons));
});
