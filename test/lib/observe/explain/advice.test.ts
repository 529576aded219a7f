// What people are advised to look at first.

import test from 'ava';
import { adviceOn } from '../../../../lib/observe/explain/advice.ts';
import { ownReasons } from '../../../../lib/observe/explain/gates.ts';

test('each reason of the rows, and those of rules, have an advice that is a sentence', (t) => {
  const names = Object.keys(ownReasons) as (keyof typeof ownReasons)[];
  for (const reason of [
    ...names,
    'rule_drop',
    'default_drop',
    'no_peer',
    'peer_elsewhere',
  ] as const)
    t.regex(String(adviceOn(reason)), /^[A-Z].*\.$/, reason);
});

test('a reason that says all has none', (t) => {
  t.is(adviceOn('inner_malformed'), null);
});
