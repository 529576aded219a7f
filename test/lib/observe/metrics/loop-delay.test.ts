// How late the loop is, by the lengths of its turns: what it comes to, what it sees, and that it
// wakes nobody.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { LoopDelay, TurnLengths } from '../../../../lib/observe/metrics/loop-delay.ts';

const FILE = new URL('../../../../lib/observe/metrics/loop-delay.ts', import.meta.url).href;

function lengthsOf(...turns: readonly number[]): TurnLengths {
  const lengths = new TurnLengths();
  for (const ms of turns) lengths.add(ms);
  return lengths;
}

function isAbout(t: ExecutionContext, value: number, expected: number, what: string): void {
  t.true(Math.abs(value - expected) <= expected * 0.02, `${what}: ${value}, not ${expected}`);
}

test('without turns nothing is late, and no time is no error', (t) => {
  t.deepEqual(new TurnLengths().latenessIn(1_000), { mean: 0, p99: 0, max: 0 });
  t.deepEqual(new TurnLengths().latenessIn(0), { mean: 0, p99: 0, max: 0 });
});

test('turns that take half of the time make what falls due wait for a quarter of one', (t) => {
  const { mean, p99, max } = lengthsOf(...Array<number>(50).fill(10)).latenessIn(1_000);
  isAbout(t, mean, 2.5, 'mean');
  // Of 20 ms the first 0.2 ms of a turn are the hundredth part.
  isAbout(t, p99, 9.8, 'p99');
  t.is(max, 10);
});

test('what less than a hundredth falls into is the maximum and not the percentile', (t) => {
  const turns = lengthsOf(400, ...Array<number>(1_000).fill(2));
  t.is(turns.latenessIn(60_000).max, 400);
  t.true(turns.latenessIn(60_000).p99 < 2);
  // In a second all but 10 ms of the longest turn are less than the percentile.
  isAbout(t, turns.latenessIn(1_000).p99, 390, 'p99');
});

test('the percentile is what a count of moments finds', (t) => {
  const turns = Array.from({ length: 300 }, (_, i) => 0.05 * 1.03 ** i);
  const total = 2 * turns.reduce((sum, ms) => sum + ms, 0);
  const { p99, mean } = lengthsOf(...turns).latenessIn(total);
  const moments = turns.flatMap((ms) =>
    Array.from({ length: Math.ceil(ms * 20) }, (_, i) => ms - i / 20),
  );
  moments.sort((a, b) => b - a);
  isAbout(t, p99, moments[Math.round((total * 20) / 100)]!, 'p99');
  isAbout(t, mean, moments.reduce((sum, ms) => sum + ms, 0) / (total * 20), 'mean');
});

test('what holds the loop is seen, in a timer and in an answer to I/O', async (t) => {
  const delay = new LoopDelay();
  t.teardown(() => delay.stop());
  const hold = (): void => {
    const until = performance.now() + 400;
    while (performance.now() < until);
  };
  t.is(delay.take().max, 0, 'nobody has asked before');
  await sleep(10);
  hold();
  await sleep(50);
  const { max, p99, mean } = delay.take();
  t.true(max > 300 && p99 > 300 && mean > 50, `${max}, ${p99}, ${mean}`);
  await new Promise<void>((resolve) => {
    readFile(import.meta.filename, () => {
      hold();
      resolve();
    });
  });
  await sleep(50);
  t.true(delay.take().max > 300);
});

test('a process in which somebody has asked stays at rest, and ends', async (t) => {
  const program = `
    const { LoopDelay } = await import('${FILE}');
    const delay = new LoopDelay();
    delay.take();
    const turns = () => performance.nodeTiming.uvMetricsInfo.loopCount;
    setTimeout(() => {
      const before = turns();
      setTimeout(() => process.stdout.write(String(turns() - before)), 1_000);
    }, 100);`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    program,
  ]);
  t.true(Number(stdout) >= 1 && Number(stdout) <= 5, stdout);
});
