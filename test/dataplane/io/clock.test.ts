// The clocks of this machine.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { systemClock } from '../../../dataplane/io/clock.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';

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

const SLEPT_S = 100_000;
/** Prints how far the clock of the data plane is ahead of CLOCK_MONOTONIC, ms. */
const AHEAD = `
  import { systemClock } from '${urlOf('io/clock.ts')}';
  import { loadAddon } from '${urlOf('native/index.ts')}';
  const { now } = systemClock(loadAddon().addon.bootTime);
  console.log(now() - Number(process.hrtime.bigint()) / 1e6);
`;

function urlOf(file: string): string {
  return `file://${join(import.meta.dirname, '../../../dataplane', file)}`;
}

function aheadIn(...wrapper: string[]): number {
  const [program, ...args] = [...wrapper, process.execPath, '--input-type=module', '-e', AHEAD];
  return Number(
    execFileSync(program!, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

nativeTest('the clock of timers is CLOCK_BOOTTIME, which counts the sleep of a machine', (t) => {
  // A time namespace that differs in CLOCK_BOOTTIME alone is a machine that has slept.
  const slept = ['unshare', '--user', '--map-root-user', '--fork', '--time'];
  try {
    execFileSync(slept[0]!, [...slept.slice(1), 'true'], { stdio: 'ignore' });
  } catch {
    t.log('time namespaces may not be made here');
    return void t.not(process.env['CI'], 'true');
  }
  const ahead = aheadIn(...slept, '--boottime', String(SLEPT_S)) - aheadIn();
  t.true(Math.abs(ahead - 1_000 * SLEPT_S) < 1_000, `${ahead}`);
});
