// Whose password is computed next, and who finds no place.

import test from 'ava';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Asker,
  askerAt,
  PasswordQueue,
  PLACES_MAX,
  STRANGER_PLACES,
} from '../../../lib/auth/password-queue.ts';
import { configOf } from '../../support/api/server.ts';

/** A queue whose work ends when the test says so. */
function open() {
  const queue = new PasswordQueue();
  const order: string[] = [];
  const ends: (() => void)[] = [];
  let refused = 0;
  const ask = (name: string, asker: Asker): void => {
    const work = (): Promise<void> => {
      order.push(name);
      return new Promise((resolve) => ends.push(resolve));
    };
    queue.run(asker, work).catch(() => (refused += 1));
  };
  /** Lets everything run, one after the other. */
  const finish = async (): Promise<void> => {
    for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
      end();
      await nextTurn();
    }
  };
  return { ask, order, finish, refused: () => refused };
}

const config = configOf();
const stranger = (address: string): Asker => askerAt(config, address, false);
const known = (address: string): Asker => askerAt(config, address, true);

test('an address stands for its /64 and its /48, or for its /24', (t) => {
  const asker = { scope: '2001:db8:1:2', network: '2001:db8:1', isKnown: false };
  t.deepEqual(stranger('2001:db8:1:2:3::4'), asker);
  t.deepEqual(known('192.0.2.7'), { scope: '192.0.2.7', network: '192.0.2', isKnown: true });
});

test('two run at once, and who waits runs in the order of coming', async (t) => {
  const { ask, order, finish } = open();
  for (const name of ['a', 'b', 'c', 'd']) ask(name, stranger('192.0.2.1'));
  await nextTurn();
  t.deepEqual(order, ['a', 'b']);
  await finish();
  t.deepEqual(order, ['a', 'b', 'c', 'd']);
});

test('networks take turns, and in each its addresses', async (t) => {
  const { ask, order, finish } = open();
  for (const name of ['x', 'y']) ask(name, stranger('198.51.100.1'));
  for (const name of ['a1', 'a2', 'a3']) ask(name, stranger('2001:db8:1:1::1'));
  ask('b', stranger('2001:db8:1:2::1'));
  ask('c', stranger('192.0.2.1'));
  await finish();
  t.deepEqual(order, ['x', 'y', 'a1', 'c', 'b', 'a2', 'a3']);
});

test('a /48 takes a share of the places, and a /64 a part of that', async (t) => {
  const { ask, order, finish, refused } = open();
  for (const name of ['x', 'y']) ask(name, stranger('198.51.100.1'));
  for (let i = 0; i < 200; i += 1) ask(`a${i}`, stranger('2001:db8:1:1::1'));
  await nextTurn();
  t.is(refused(), 200 - STRANGER_PLACES.scope);
  for (let i = 0; i < 200; i += 1) ask(`b${i}`, stranger(`2001:db8:1:${i + 2}::1`));
  await nextTurn();
  t.is(refused(), 400 - STRANGER_PLACES.network);
  ask('c', stranger('192.0.2.1'));
  await finish();
  t.true(order.indexOf('c') <= 3, 'its network did not have a turn yet');
});

test('where all places are taken, a newcomer takes one of the greatest network', async (t) => {
  const { ask, order, finish, refused } = open();
  for (const name of ['x', 'y']) ask(name, stranger('198.51.100.1'));
  const networks = PLACES_MAX / STRANGER_PLACES.network;
  for (let n = 0; n < networks; n += 1)
    for (let i = 0; i < STRANGER_PLACES.network; i += 1)
      ask(`${n}`, stranger(`2001:db8:${n}:${i}::1`));
  await nextTurn();
  t.is(refused(), 0);
  ask('late', stranger('192.0.2.1'));
  await nextTurn();
  t.is(refused(), 1);
  await finish();
  t.true(order.includes('late'));
});

test('strangers without number keep nobody out who signed in before', async (t) => {
  const { ask, order, finish, refused } = open();
  for (let i = 0; i < 1_000; i += 1) ask(`${i}`, stranger(`10.${i >> 8}.${i & 255}.1`));
  await nextTurn();
  const before = refused();
  t.is(before, 1_000 - 2 - PLACES_MAX);
  for (let i = 0; i < 20; i += 1) ask('known', known('192.0.2.1'));
  await finish();
  t.is(refused(), before);
  const last = order.lastIndexOf('known');
  t.true(last <= 2 + 2 * 20, `turns alternate: the last of 20 was number ${last}`);
});
