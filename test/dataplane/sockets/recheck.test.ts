// After a change of the rules each connection is judged again, some of them in each turn.

import test from 'ava';
import { reasonNames } from '../../../dataplane/reasons.ts';
import { isByRules, Recheck } from '../../../dataplane/sockets/recheck.ts';

test('each row is judged once after a change, some in each turn', (t) => {
  const recheck = new Recheck(1_100);
  const judged: number[] = [];
  const turn = (): number => {
    const before = judged.length;
    recheck.turn((slot) => judged.push(slot));
    return judged.length - before;
  };
  t.is(turn(), 0, 'nothing has changed');
  recheck.begin();
  t.true(recheck.isOn);
  t.deepEqual([turn(), turn(), turn(), turn()], [512, 512, 76, 0]);
  t.false(recheck.isOn);
  t.deepEqual(
    judged,
    Array.from({ length: 1_100 }, (_, i) => i + 1),
  );
});

test('a change while rows are judged begins anew', (t) => {
  const recheck = new Recheck(600);
  recheck.begin();
  const judged: number[] = [];
  recheck.turn((slot) => judged.push(slot));
  recheck.begin();
  while (recheck.isOn) recheck.turn((slot) => judged.push(slot));
  t.is(judged.length, 512 + 600);
  t.is(judged[512], 1);
});

test('rules refuse by two reasons, and addresses by others', (t) => {
  const names = reasonNames.filter((_, reason) => isByRules(reason));
  t.deepEqual(names.toSorted(), ['default_drop', 'rule_drop']);
});
