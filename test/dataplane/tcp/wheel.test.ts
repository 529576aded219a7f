// The timer wheel, compared with a list.

import test from 'ava';
import { NEVER } from '../../../dataplane/tcp/columns.ts';
import { Wheel } from '../../../dataplane/tcp/wheel.ts';
import { Dice } from '../../support/tcp/world.ts';

test('an empty wheel has no deadline', (t) => {
  const wheel = new Wheel(3);
  t.is(wheel.deadline, NEVER);
  t.is(wheel.take(1e9), 0);
  wheel.schedule(1, NEVER);
  t.is(wheel.deadline, NEVER);
  wheel.schedule(1, 2e9);
  wheel.remove(1);
  wheel.remove(1);
  t.is(wheel.deadline, NEVER);
});

test('an entry fires at its tick: not before, and with all of that tick', (t) => {
  for (const start of [0, 255, 256, 65_535, 65_536, 2 ** 24 - 1, 2 ** 31 - 1, 2 ** 32 + 255.5])
    for (const after of [0.2, 1, 255, 256, 257, 65_535, 65_536, 70_000, 2 ** 24 - 2]) {
      const wheel = new Wheel(2);
      wheel.take(start);
      wheel.schedule(1, start + after);
      wheel.schedule(2, start + after);
      const due = Math.ceil(start + after);
      let [now, wakes] = [start, 0];
      while (wheel.deadline < due) {
        t.true(wheel.deadline > now);
        now = wheel.deadline;
        t.is(wheel.take(now), 0);
        wakes++;
      }
      t.true(wakes <= 2, 'what is far away is moved at most twice');
      t.is(wheel.deadline, due);
      t.is(wheel.take(due - 0.5), 0);
      t.deepEqual(
        [wheel.take(due), wheel.take(due), wheel.take(due)].toSorted((a, b) => a - b),
        [0, 1, 2],
      );
      t.is(wheel.deadline, NEVER);
    }
});

test('an earlier deadline takes the place of a later one; a later one changes nothing', (t) => {
  const wheel = new Wheel(1);
  wheel.schedule(1, 500);
  wheel.schedule(1, 50);
  wheel.schedule(1, 900);
  t.is(wheel.take(49), 0);
  t.is(wheel.take(50), 1);
  t.is(wheel.take(5_000), 0);
});

test('the deadline is that of the entries that are left', (t) => {
  const wheel = new Wheel(4);
  wheel.take(10);
  for (const [entry, at] of [20, 20, 30, 70_000].entries()) wheel.schedule(entry + 1, at);
  const deadlines = [1, 2, 3, 4].map((entry) => {
    wheel.remove(entry);
    return wheel.deadline;
  });
  t.deepEqual(deadlines, [20, 30, 65_536, NEVER]);
  wheel.schedule(1, 25);
  t.is(wheel.deadline, 25);
});

test('what is further away than the wheel reaches fires early', (t) => {
  const wheel = new Wheel(1);
  wheel.schedule(1, 1e12);
  t.is(wheel.take(2 ** 24 + 70_000), 1);
});

test('random deadlines fire in order, none is lost', (t) => {
  const dice = new Dice(5);
  const wheel = new Wheel(50);
  const due = new Map<number, number>();
  let now = 0;
  for (let i = 0; i < 20_000; i++) {
    const entry = 1 + dice.below(50);
    const at = now + dice.next() * dice.pick([3, 300, 70_000, 5_000_000]);
    if (dice.oneIn(5)) {
      wheel.remove(entry);
      due.delete(entry);
    } else {
      wheel.schedule(entry, at);
      due.set(entry, Math.min(due.get(entry) ?? NEVER, Math.max(at, Math.floor(now) + 1)));
    }
    now += dice.next() * dice.pick([0, 1, 100, 10_000]);
    for (let fired = wheel.take(now); fired !== 0; fired = wheel.take(now)) {
      t.true(Math.ceil(due.get(fired)!) <= now, `${fired} fires early`);
      due.delete(fired);
    }
    for (const [waiting, when] of due) t.true(Math.ceil(when) > now, `${waiting} is late`);
    const latest = Math.ceil(Math.min(NEVER, ...due.values()));
    t.true(wheel.deadline > now && wheel.deadline <= latest, `${wheel.deadline}, not ${latest}`);
    t.is(wheel.deadline === NEVER, due.size === 0);
  }
});
