// Each fate of a packet has its sentence.

import test from 'ava';
import { growth, NoAnswerError } from '../../../dataplane/memory/no-answer.ts';

const NOTHING = { refusals: {}, ownRefusals: {}, isUnclaimed: false };

for (const [fate, message] of [
  [{ refusals: { rule_drop: 2, no_peer: 1 } }, 'the gateway refused it (rule_drop: 2, no_peer: 1)'],
  [{ ownRefusals: { response_invalid: 1 } }, 'the device refused what came (response_invalid: 1)'],
  [
    { isUnclaimed: true },
    "the gateway let it pass, and nobody is at 10.9.9.9; put somebody there with gateway.host('10.9.9.9')",
  ],
  [{}, 'the gateway refused nothing, and nobody answered; is 10.9.9.9 online?'],
] as const)
  test(`why: ${message}`, (t) => {
    const error = new NoAnswerError('the ping', '10.9.9.9', { ...NOTHING, ...fate });
    t.is(error.message, `the ping was not answered: ${message}`);
    t.is(error.code, 'NO_ANSWER');
  });

test('growth names what grew, and by how much', (t) => {
  t.deepEqual(growth({ a: 1, b: 2 }, { a: 1, b: 5, c: 1 }), { b: 3, c: 1 });
  t.deepEqual(growth({ a: 1 }, {}), {});
});
