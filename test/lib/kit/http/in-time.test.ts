// What takes too long is given up.

import test from 'ava';
import { inTime } from '../../../../lib/kit/http/in-time.ts';

test('an answer in time is handed on, an error too, and no timer stays', async (t) => {
  t.is(await inTime(Promise.resolve(7), 60_000), 7);
  await t.throwsAsync(inTime(Promise.reject(new Error('bad')), 60_000), { message: 'bad' });
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
  await inTime(Promise.resolve(), 60_000);
  t.is(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length, timers.length);
});

test('who does not answer in time is unavailable', async (t) => {
  const never = new Promise(() => undefined);
  await t.throwsAsync(inTime(never, 20), { message: 'service_unavailable' });
});
