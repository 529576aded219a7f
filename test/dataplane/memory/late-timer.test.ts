// Real time: the timer is about how often that of Node is set.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { LateTimer } from '../../../dataplane/memory/late-timer.ts';

/** A timer, and when it has called. */
function watched(): { timer: LateTimer; calls: number[] } {
  const calls: number[] = [];
  return { timer: new LateTimer(() => calls.push(performance.now())), calls };
}

/** Waits until there are so many calls. */
async function called(calls: readonly number[], count: number): Promise<void> {
  while (calls.length < count) await sleep(1);
}

test('it calls once, not before its time', async (t) => {
  const { timer, calls } = watched();
  const began = performance.now();
  timer.set(20);
  await called(calls, 1);
  t.true(calls[0]! - began >= 18);
  await sleep(30);
  t.is(calls.length, 1);
});

test('what is set last is in force: later, earlier, never', async (t) => {
  const { timer, calls } = watched();
  const began = performance.now();
  timer.set(10);
  timer.set(60);
  await called(calls, 1);
  t.true(calls[0]! - began >= 58);
  timer.set(3_600_000);
  timer.set(5);
  await called(calls, 2);
  timer.set(5);
  timer.set(Number.POSITIVE_INFINITY);
  await sleep(20);
  t.is(calls.length, 2);
  timer.set(5);
  await called(calls, 3);
  t.pass();
});

test('after clear it calls no more, until it is set again', async (t) => {
  const { timer, calls } = watched();
  timer.set(5);
  timer.clear();
  await sleep(20);
  t.is(calls.length, 0);
  timer.set(0);
  await called(calls, 1);
  t.pass();
});

test('it waits longer than a timer of Node can', async (t) => {
  const { timer, calls } = watched();
  timer.set(2 ** 40);
  await sleep(20);
  t.is(calls.length, 0);
  timer.clear();
});

test.serial('its time has passed before it is set: it waits for no negative time', async (t) => {
  const set = globalThis.setTimeout;
  t.teardown(() => Object.assign(globalThis, { setTimeout: set }));
  const waits: (number | undefined)[] = [];
  Object.assign(globalThis, {
    setTimeout: (call: () => void, wait?: number) => {
      waits.push(wait);
      return set(call, wait);
    },
  });
  // The process gets no processor for a while, right after it has read the clock.
  let ms = performance.now();
  performance.now = () => (ms += 100);
  const { timer } = watched();
  timer.set(5);
  Reflect.deleteProperty(performance, 'now');
  t.deepEqual(waits, [1]);
  timer.clear();
});
