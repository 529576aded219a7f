// Hourly tasks run at the start or some time later, one after the other, and a failure does not
// stop the next ones.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { startHourly } from '../../../../lib/kit/process/hourly.ts';
import { type LogLine, logInto } from '../../../support/api/server.ts';

test('every task runs, and a failure is logged without its message', async (t) => {
  const done: string[] = [];
  const lines: LogLine[] = [];
  const chores = [
    {
      failure: 'the first was not done',
      run: async () => {
        throw new TypeError('a secret value');
      },
    },
    {
      failure: 'the second was not done',
      run: async () => void done.push('second'),
    },
  ];
  await startHourly(chores, logInto(lines)).stop();
  t.deepEqual(done, ['second']);
  t.deepEqual(lines, [
    {
      level: 'warn',
      fields: { error: 'TypeError' },
      message: 'the first was not done; tried again in an hour',
    },
  ]);
});

test('what waits is not done', async (t) => {
  const chore = { failure: 'it was done', run: async () => t.fail('it was done') };
  await startHourly([chore], logInto([]), { isWaiting: () => true }).stop();
  t.pass();
});

test('what takes long hears that the gateway stops', async (t) => {
  const heard: boolean[] = [];
  const chore = {
    failure: 'it was not done',
    run: async (isStopping: () => boolean) => {
      heard.push(isStopping());
      while (!isStopping()) await sleep(1);
      heard.push(isStopping());
    },
  };
  const chores = startHourly([chore], logInto([]));
  await sleep(5);
  await chores.stop();
  t.deepEqual(heard, [false, true]);
});

test('what begins later runs at its time, and not at a stop before', async (t) => {
  let count = 0;
  const chore = { failure: 'it was not done', run: async () => void (count += 1) };
  const late = startHourly([chore], logInto([]), { firstMs: 60_000 });
  const soon = startHourly([chore], logInto([]), { firstMs: 5 });
  await sleep(1);
  t.is(count, 0);
  while (count === 0) await sleep(5);
  await Promise.all([late.stop(), soon.stop()]);
  t.is(count, 1);
});
