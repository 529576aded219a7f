// The pool: its limit, its order, and that nobody waits for a connection that never comes.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { ConnectionAcquireTimeoutError } from 'sequelize';
import { ConnectionPool } from '../../../models/storage/connection-pool.ts';

function poolOf(limit: number, acquireTimeoutMs = 1000) {
  const opened: number[] = [];
  const closed: number[] = [];
  const pool = new ConnectionPool<{ id: number }>({
    limit,
    acquireTimeoutMs,
    open: async () => {
      await sleep(1);
      opened.push(opened.length);
      return { id: opened.length - 1 };
    },
    close: async ({ id }) => {
      await sleep(1);
      closed.push(id);
    },
  });
  return { pool, opened, closed };
}

test('no more connections are open than the limit, and they are used again', async (t) => {
  const { pool, opened } = poolOf(3);
  let lent = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      const connection = await pool.acquire();
      lent += 1;
      most = Math.max(most, lent);
      await sleep(1);
      lent -= 1;
      pool.release(connection);
    }),
  );
  t.is(most, 3);
  t.is(opened.length, 3);
});

test('connections are lent in the order of asking', async (t) => {
  const { pool } = poolOf(1);
  const order: number[] = [];
  const first = await pool.acquire();
  const others = [1, 2, 3].map(async (i) => {
    const connection = await pool.acquire();
    order.push(i);
    pool.release(connection);
  });
  pool.release(first);
  await Promise.all(others);
  t.deepEqual(order, [1, 2, 3]);
});

test('one waits no longer than the time limit, and the place goes to the next', async (t) => {
  const { pool } = poolOf(1, 30);
  const first = await pool.acquire();
  await t.throwsAsync(pool.acquire(), { instanceOf: ConnectionAcquireTimeoutError });
  const next = pool.acquire();
  pool.release(first);
  t.is(await next, first);
});

test('those who have waited for so long are refused, the others keep their place', async (t) => {
  const { pool } = poolOf(1);
  const first = await pool.acquire();
  const early = [pool.acquire(), pool.acquire()].map((waiting) =>
    t.throwsAsync(waiting, { message: 'enough' }),
  );
  await sleep(40);
  const late = pool.acquire();
  pool.refuseWaiters(30, new Error('enough'));
  await Promise.all(early);
  pool.release(first);
  t.is(await late, first);
});

test('a destroyed connection is ended, and whoever waits gets another', async (t) => {
  const { pool, closed } = poolOf(1);
  const first = await pool.acquire();
  const next = pool.acquire();
  await pool.destroy(first);
  t.deepEqual(closed, [0]);
  t.is((await next).id, 1);
  t.false(pool.owns(first));
});

test('a connection that cannot be opened fails one caller, not those behind', async (t) => {
  let attempts = 0;
  const pool = new ConnectionPool({
    limit: 1,
    acquireTimeoutMs: 1000,
    open: async () => {
      attempts += 1;
      await sleep(1);
      if (attempts === 1) throw new Error('no');
      return { id: attempts };
    },
    close: async () => undefined,
  });
  const [first, second] = await Promise.allSettled([pool.acquire(), pool.acquire()]);
  t.is(first.status, 'rejected');
  t.is(second.status, 'fulfilled');
});

test('closing refuses those who wait and lets the present user finish', async (t) => {
  const { pool, closed } = poolOf(1);
  const connection = await pool.acquire();
  const waiting = t.throwsAsync(pool.acquire(), { message: 'The database was closed' });
  const closing = pool.close();
  await waiting;
  t.deepEqual(closed, []);
  pool.release(connection);
  await closing;
  t.deepEqual(closed, [0]);
  await t.throwsAsync(pool.acquire(), { message: 'The database is closed' });
});

test('a connection that comes back twice is lent to one user only', async (t) => {
  const { pool } = poolOf(2);
  const first = await pool.acquire();
  pool.release(first);
  pool.release(first);
  t.not(await pool.acquire(), await pool.acquire());
});
