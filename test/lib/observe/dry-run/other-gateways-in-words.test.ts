// The words for other gateways that run, and for what a write would cut off there.

import test from 'ava';
import {
  cutsOffElsewhere,
  othersInWords,
} from '../../../../lib/observe/dry-run/other-gateways-in-words.ts';
import type { OtherGateway } from '../../../../lib/observe/dry-run/fields.ts';

test('one gateway, several, and many, in words', (t) => {
  const other = (name: string, cut = 0): OtherGateway => ({
    id: name,
    name,
    cut_off_device_count: cut,
  });
  t.is(othersInWords([]), null);
  t.is(
    othersInWords([other('berlin')]),
    'Only flows at this gateway are counted. berlin runs too: ask it what ends there.',
  );
  t.is(
    othersInWords([other('berlin', 1), other('paris', 2)]),
    'Only flows at this gateway are counted. berlin, paris run too: ask each of them what ends there. It cuts off 1 device that is connected to berlin. It cuts off 2 devices that are connected to paris.',
  );
  const many = othersInWords(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => other(name)));
  t.regex(String(many), / a, b, c, d, e and 2 more run too: /);
  t.false(cutsOffElsewhere([other('berlin')]));
  t.true(cutsOffElsewhere([other('berlin'), other('paris', 1)]));
});
