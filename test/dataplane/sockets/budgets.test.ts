// How many sockets a device may have, and how many flows it may open in one turn.

import test from 'ava';
import { Budgets, Openings } from '../../../dataplane/sockets/budgets.ts';

test('a device has a quarter of the sockets, and leaves to others as many as it has', (t) => {
  const budgets = new Budgets(100, 8);
  const take = (device: number, count: number): number => {
    let taken = 0;
    while (taken < count && budgets.take(device)) taken++;
    return taken;
  };
  t.is(take(0, 30), 25);
  t.is(take(1, 20), 20);
  t.is(take(2, 30), 25);
  t.is(take(3, 30), 16, 'some it has in any case');
  t.is(take(4, 30), 14);
  t.is(budgets.used, 100);
  budgets.give(0);
  t.is(take(5, 2), 1);
});

test('no four devices have all: each further one finds some', (t) => {
  const budgets = new Budgets(4_096, 16);
  const all = (device: number): number => {
    let taken = 0;
    while (budgets.take(device)) taken++;
    return taken;
  };
  t.deepEqual([0, 1, 2, 3, 4, 5, 6].map(all), [1_024, 1_024, 1_024, 512, 256, 128, 64]);
});

test('where there are few, a device still gets some', (t) => {
  const budgets = new Budgets(20, 2);
  let taken = 0;
  while (budgets.take(0)) taken++;
  t.is(taken, 16);
});

test('in one turn a device leaves to others as much as it has had, and a turn begins anew', (t) => {
  const openings = new Openings(64, 8);
  const take = (device: number): number => {
    let taken = 0;
    while (openings.take(device)) taken++;
    return taken;
  };
  t.is(take(0), 0, 'no turn has begun');
  for (let turn = 0; turn < 2; turn++) {
    openings.begin();
    t.deepEqual([0, 1, 0, 2, 3, 4, 5, 6, 7].map(take), [32, 16, 0, 8, 4, 2, 1, 1, 0]);
  }
});
