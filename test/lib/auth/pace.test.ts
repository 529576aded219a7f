// The pace of people who are signed in, in virtual time.

import type { IncomingMessage } from 'node:http';
import test from 'ava';
import type { Somebody } from '../../../lib/auth/known-good.ts';
import { Pace } from '../../../lib/auth/pace.ts';

const ANN: Somebody = { userId: 'ann', isAdministrator: false, by: 'session' };
const BOSS: Somebody = { userId: 'boss', isAdministrator: true, by: 'session' };

function make(perSecond = 1_000) {
  const clock = { ms: 0 };
  const pace = new Pace(perSecond, () => clock.ms);
  /** What a number of requests of somebody come to, by reason. */
  const many = (count: number, who: Somebody, method = 'GET'): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (let i = 0; i < count; i += 1) {
      const reason = pace.judge(who, { method } as IncomingMessage)?.reason ?? 'passed';
      counts[reason] = (counts[reason] ?? 0) + 1;
    }
    return counts;
  };
  return { clock, many };
}

test('a user may ask 60 times at once and 20 times a second, by whatever they show', (t) => {
  const { clock, many } = make();
  t.deepEqual(many(100, ANN), { passed: 60, too_many_of_user: 40 });
  t.deepEqual(many(1, { ...ANN, by: 'token' }), { too_many_of_user: 1 });
  t.deepEqual(many(1, { ...ANN, userId: 'another' }), { passed: 1 });
  clock.ms = 1_000;
  t.deepEqual(many(100, ANN), { passed: 20, too_many_of_user: 80 });
});

for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
  test(`a user may ${method} 30 times at once and once a second`, (t) => {
    const { clock, many } = make();
    t.deepEqual(many(40, ANN, method), { passed: 30, too_many_writes_of_user: 10 });
    clock.ms = 1_000;
    t.deepEqual(many(5, ANN, method), { passed: 1, too_many_writes_of_user: 4 });
    t.deepEqual(many(5, ANN, 'HEAD'), { passed: 5 }, 'and read beside it');
  });

test('who knows the password alone takes nothing from the user', (t) => {
  const { many } = make();
  t.deepEqual(many(100, { ...ANN, by: 'waiting session' }), { passed: 60, too_many_of_user: 40 });
  t.deepEqual(many(60, ANN), { passed: 60 });
});

test('sessions of an administrator have API_RATE_LIMIT together, tokens a limit of their own', (t) => {
  const { clock, many } = make(100);
  t.deepEqual(many(300, BOSS, 'PATCH'), { passed: 200, too_many_of_user: 100 });
  t.deepEqual(many(300, { ...BOSS, by: 'token' }, 'PATCH'), { passed: 300 });
  clock.ms = 1_000;
  t.deepEqual(many(300, BOSS), { passed: 100, too_many_of_user: 200 });
});
