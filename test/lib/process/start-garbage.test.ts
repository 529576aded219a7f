// Collecting once after the start, and not at all where that was stopped or cannot be.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { collectLater } from '../../../lib/process/start-garbage.ts';

test('it collects later, and once', async (t) => {
  let collected = 0;
  collectLater(() => collected++, 5);
  t.is(collected, 0);
  while (collected === 0) await sleep(1);
  await sleep(20);
  t.is(collected, 1);
});

test('who stops before spares it', async (t) => {
  let collected = 0;
  collectLater(() => collected++, 5).stop();
  await sleep(30);
  t.is(collected, 0);
});

test('without a way to collect nothing happens', async (t) => {
  const collecting = collectLater(null, 1);
  await sleep(10);
  t.notThrows(() => collecting.stop());
});
