// Counting attempts to sign in: how many, for how long, however many come at once.

import test from 'ava';
import {
  accountOf,
  ATTEMPTS_MAX,
  ATTEMPTS_MS,
  type Counted,
  forgetAttempts,
  forgiveAttempt,
  fromAddress,
  readWaits,
  takeAttempt,
} from '../../../lib/auth/attempts.ts';
import { configOf } from '../../support/api/server.ts';
import { type LogLine, logInto } from '../../../lib/testing/log.ts';
import { pruneSignIns, writeTransaction } from '../../../models/index.ts';
import {
  databaseKinds,
  openAt,
  makePlace,
  openDatabase,
} from '../../support/database/databases.ts';
import { migrate } from '../../../models/index.ts';

const config = configOf();
const account: Counted = { kind: 'account', subject: 'ann@example.com' };
const START = new Date('2026-11-21T08:00:00Z');
const after = (ms: number): Date => new Date(START.getTime() + ms);

for (const kind of databaseKinds()) {
  test(`${kind}: five attempts are free, the sixth has to wait for 15 minutes`, async (t) => {
    const database = await openDatabase(t, kind);
    for (let n = 0; n < ATTEMPTS_MAX; n += 1)
      t.is((await takeAttempt(database, [account], after(n * 60_000))).refusedBy, null);
    // From the fifth on, not from the first.
    const last = 4 * 60_000;
    for (const ms of [last + 1, last + ATTEMPTS_MS - 1])
      t.is((await takeAttempt(database, [account], after(ms))).refusedBy, 'account');
    t.is((await takeAttempt(database, [account], after(last + ATTEMPTS_MS))).refusedBy, null);
    t.is(await database.models.SignInAttempt.count(), 1);
  });

  test(`${kind}: wrong codes wait twice as long each time, to a day, until a good one`, async (t) => {
    const database = await openDatabase(t, kind);
    const codes: Counted = { kind: 'code', subject: 'id' };
    let now = START.getTime();
    const fill = async (): Promise<number> => {
      for (let n = 1; n < ATTEMPTS_MAX; n += 1)
        t.deepEqual((await takeAttempt(database, [codes], new Date(now))).locks, []);
      const { locks } = await takeAttempt(database, [codes], new Date(now));
      const { refusedBy, waitsUntil } = await takeAttempt(database, [codes], new Date(now));
      t.is(refusedBy, 'code');
      const ms = (waitsUntil?.getTime() ?? 0) - now;
      t.deepEqual(locks, [{ by: 'code', minutes: ms / 60_000 }]);
      const user = { id: 'id', email: 'ann@example.com' };
      const waits = await readWaits(database, [user], new Date(now));
      t.is(waits.get('id')?.getTime(), now + ms);
      const last = new Date(now + ms - 1);
      t.is((await takeAttempt(database, [codes], last)).refusedBy, 'code');
      now += ms;
      return ms / 60_000;
    };
    for (const minutes of [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440, 1_440]) {
      // The chore runs each hour; what it forgets must not shorten the next wait.
      const times = { seenBefore: new Date(now), now: new Date(now + 1) };
      await pruneSignIns(database, times);
      t.is(await fill(), minutes);
    }
    // Some wrong ones whose 15 minutes pass change nothing.
    await takeAttempt(database, [codes], new Date(now));
    now += ATTEMPTS_MS;
    t.is(await fill(), 1_440);
    await takeAttempt(database, [codes], new Date(now));
    await writeTransaction(database, (transaction) =>
      forgiveAttempt(database, [codes], transaction),
    );
    t.is(await fill(), 15, 'a good code ends the row of waits');
    await writeTransaction(database, (transaction) =>
      forgetAttempts(database, [codes], 'id', transaction),
    );
    t.is(await fill(), 15, 'so does an administrator');
  });

  test(`${kind}: waits after wrong passwords grow no longer`, async (t) => {
    const database = await openDatabase(t, kind);
    for (let round = 0; round < 3; round += 1) {
      const now = after(round * ATTEMPTS_MS);
      for (let n = 0; n < ATTEMPTS_MAX; n += 1) await takeAttempt(database, [account], now);
      const { waitsUntil } = await takeAttempt(database, [account], now);
      t.deepEqual(waitsUntil, after((round + 1) * ATTEMPTS_MS));
    }
  });

  test(`${kind}: attempts that are 15 minutes old count no more`, async (t) => {
    const database = await openDatabase(t, kind);
    for (let n = 0; n < ATTEMPTS_MAX - 1; n += 1) await takeAttempt(database, [account], START);
    for (let n = 0; n < ATTEMPTS_MAX; n += 1)
      t.is((await takeAttempt(database, [account], after(ATTEMPTS_MS))).refusedBy, null);
    t.is((await takeAttempt(database, [account], after(ATTEMPTS_MS))).refusedBy, 'account');
  });

  test(`${kind}: a wait that began while the clock was far ahead is over`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = { id: 'ann', email: 'ann@example.com' };
    const ahead = 730 * 86_400_000;
    for (let n = 0; n < ATTEMPTS_MAX; n += 1) await takeAttempt(database, [account], after(ahead));
    t.is((await takeAttempt(database, [account], after(ahead))).refusedBy, 'account');
    t.is((await readWaits(database, [user], after(ahead))).size, 1);
    t.is((await readWaits(database, [user], START)).size, 0, 'the clock came back');
    for (let n = 0; n < ATTEMPTS_MAX; n += 1)
      t.is((await takeAttempt(database, [account], START)).refusedBy, null);
    t.is((await takeAttempt(database, [account], START)).refusedBy, 'account', 'and counts anew');
  });

  test(`${kind}: a refused attempt moves no other count`, async (t) => {
    const database = await openDatabase(t, kind);
    for (let n = 0; n < ATTEMPTS_MAX; n += 1) await takeAttempt(database, [account], START);
    const address = fromAddress(config, '192.0.2.7');
    for (let n = 0; n < 9; n += 1)
      t.is((await takeAttempt(database, [account, address], START)).refusedBy, 'account');
    t.is((await takeAttempt(database, [address], START)).refusedBy, null);
  });

  test(`${kind}: many at once, in two processes, are five and no more`, async (t) => {
    const place = await makePlace(t, kind);
    const [one, other] = [await openAt(t, place), await openAt(t, place)];
    await migrate(one);
    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        takeAttempt(
          i % 2 === 0 ? one : other,
          [account, fromAddress(config, `192.0.2.${i}`)],
          START,
        ),
      ),
    );
    t.is(taken.filter(({ refusedBy }) => refusedBy === null).length, ATTEMPTS_MAX);
  });

  test(`${kind}: a good attempt clears its account, and takes one from its address`, async (t) => {
    const database = await openDatabase(t, kind);
    const both = [account, fromAddress(config, '192.0.2.7')];
    for (let n = 0; n < 4; n += 1) await takeAttempt(database, both, START);
    await writeTransaction(database, (transaction) => forgiveAttempt(database, both, transaction));
    const rows = await database.models.SignInAttempt.findAll({ raw: true });
    t.deepEqual(
      rows.map(({ kind: by, count }) => [by, count]),
      [['address', 3]],
    );
  });

  test(`${kind}: whoever resets an account lets it, and every address, try again`, async (t) => {
    const database = await openDatabase(t, kind);
    const other: Counted = { kind: 'account', subject: 'ben@example.com' };
    for (const counted of [account, other, fromAddress(config, '192.0.2.7')])
      await takeAttempt(database, [counted], START);
    await writeTransaction(database, (transaction) =>
      forgetAttempts(database, [account], 'id', transaction),
    );
    const left = await database.models.SignInAttempt.findAll({ raw: true });
    t.deepEqual(
      left.map(({ kind: by }) => by),
      ['account'],
    );
  });
}

test('a wait that is lifted is logged, once it is committed; what was none is not', async (t) => {
  const log: LogLine[] = [];
  const database = await openDatabase(t, 'sqlite', { log: logInto(log) });
  log.splice(0);
  const forget = (error?: Error) =>
    writeTransaction(database, async (transaction) => {
      await forgetAttempts(database, [account], 'id', transaction);
      if (error !== undefined) throw error;
    });
  await takeAttempt(database, [account]);
  await forget();
  t.deepEqual(log, []);
  for (let n = 0; n < ATTEMPTS_MAX; n += 1) await takeAttempt(database, [account]);
  await t.throwsAsync(forget(new Error('rolled back')));
  t.deepEqual(log, []);
  await forget();
  t.deepEqual(log, [
    {
      level: 'info',
      fields: { user_id: 'id' },
      message: 'the wait after failed sign-ins was lifted',
    },
  ]);
});

test('an account is counted as one, however its e-mail is written', (t) => {
  t.deepEqual(accountOf('Ann@Example.com'), accountOf('ann@example.com'));
});

test('addresses of one IPv6 customer count as one', (t) => {
  t.deepEqual(fromAddress(config, '2001:db8::1'), fromAddress(config, '2001:db8::ffff'));
  t.notDeepEqual(fromAddress(config, '2001:db8::1'), fromAddress(config, '2001:db8:0:1::1'));
  t.notDeepEqual(fromAddress(config, '192.0.2.1'), fromAddress(config, '192.0.2.2'));
});
