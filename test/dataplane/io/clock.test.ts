// The clocks of this machine.

import test from 'ava';
import { systemClock } from '../../../dataplane/io/clock.ts';
import { nativeTest } from '../../support/native-test.ts';

test('without the addon, now only goes forward', (t) => {
  const clock = systemClock(null);
  let last = clock.now();
  for (let i = 0; i < 10_000; i++) {
    const now = clock.now();
    if (now < last) t.fail(`${now} after ${last}`);
    last = now;
  }
  t.pass();
});

test('the wall clock is Unix time in milliseconds', (t) => {
  const before = Date.now();
  const wall = systemClock(null).wall();
  t.true(wall >= before && wall <= Date.now());
});

test('a boot-time clock that is there is the one that is read', (t) => {
  t.is(systemClock(() => 12_345.5).now(), 12_345.5);
});

nativeTest('boot time and wall time run at the same speed', async (t, native) => {
  const clock = systemClock(native.bootTime);
  const [now, wall] = [clock.now(), clock.wall()];
  await new Promise((resolve) => setTimeout(resolve, 60));
  t.true(Math.abs(clock.now() - now - (clock.wall() - wall)) < 20);
});
