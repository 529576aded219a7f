// The pace of people who are signed in, in virtual time.

import type { IncomingMessage } from 'node:http';
import test from 'ava';
import type { Somebody } from '../../../lib/auth/known-good.ts';
import { Pace, WRITES } from '../../../lib/auth/pace.ts';
import { actAs } from '../../../models/index.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser, write } from '../../models/fixtures.ts';

const ANN: Somebody = { userId: 'ann', isAdministrator: false, by: 'session' };
const BOSS: Somebody = { userId: 'boss', isAdministrator: true, by: 'session' };

function make(perSecond = 1_000) {
  const clock = { ms: 0 };
  const pace = new Pace(perSecond, () => clock.ms);
  /** What a number of requests of somebody come to, by reason. */
  const many = (count: number, who: Somebody, method = 'GET'): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (let i = 0; i < count; i += 1) {
      const reason = pace.check(who, { method } as IncomingMessage)?.reason ?? 'passed';
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

test('what one user writes adds less than 1 GB a day to the audit trail', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const user = await addUser(database);
  const device = await addDevice(database, user);
  const { id: userId, email } = user;
  const origin = {
    actor: 'user',
    userId,
    email,
    isUnprivileged: true,
    tokenId: userId,
    requestId: userId,
    address: 'fd00:1111:2222:3333:4444:5555:6666:7777',
  } as const;
  // Every field that a user has, as long as it may be, and quite another one each time.
  const longest = (i: number) => {
    const address = (k: number): string =>
      `fd00:${1_000 + i}:2222:3333:4444:5555:6666:${1_000 + k}`;
    return {
      name: `${i}`.padEnd(255, 'n'),
      description: `${i}`.padEnd(2_048, 'd'),
      allowed_ips: Array.from({ length: 200 }, (_, k) => `${address(k)}/128`),
      dns: Array.from({ length: 100 }, (_, k) => address(k)),
      endpoint: `${i}`.padEnd(253, 'e'),
      mtu: 1_280 + (i % 2),
      persistent_keepalive: 10 + (i % 2),
    };
  };
  const pages = async (): Promise<number> => {
    const [[row]] = (await database.sequelize.query('PRAGMA page_count')) as [
      { page_count: number }[],
      unknown,
    ];
    return row!.page_count;
  };
  const before = await pages();
  const writes = 300;
  for (let i = 0; i < writes; i += 1)
    await write(database, async (transaction) => {
      actAs(transaction, origin);
      await device.update(longest(i), { transaction });
    });
  const bytes = (4_096 * ((await pages()) - before)) / writes;
  const most = 86_400 * WRITES.perSecond + WRITES.burst;
  t.log(`${Math.round(bytes)} bytes a write, ${(bytes * most) / 1e9} GB a day`);
  t.true(bytes > 1_000, 'entries are written');
  t.true(bytes * most < 1e9, `${bytes} bytes a write`);
});
