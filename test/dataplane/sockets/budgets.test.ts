// How many sockets a device may have.

import test from 'ava';
import { Budgets } from '../../../dataplane/sockets/budgets.ts';

test('a device has a quarter of the sockets, and all together have all', (t) => {
  const budgets = new Budgets(100, 8);
  const take = (device: number, count: number): number => {
    let taken = 0;
    while (taken < count && budgets.take(device)) taken++;
    return taken;
  };
  t.is(take(0, 30), 25);
  t.is(take(1, 20), 20);
  t.is(take(2, 30), 25);
  t.is(take(3, 30), 25);
  t.is(take(4, 30), 5);
  t.is(budgets.used, 100);
  budgets.give(0);
  t.is(take(5, 2), 1);
});

test('where there are few, a device still gets some', (t) => {
  const budgets = new Budgets(20, 2);
  let taken = 0;
  while (budgets.take(0)) taken++;
  t.is(taken, 16);
});
