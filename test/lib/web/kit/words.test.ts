// Amounts as people read them.

import test from 'ava';
import {
  agoInWords,
  awayInWords,
  bytesInWords,
  minutesUntil,
  timeInWords,
  utcInWords,
} from '../../../../lib/web/kit/words.ts';

for (const [bytes, words] of [
  [0, '0\u00a0B'],
  [999, '999\u00a0B'],
  [1_000, '1.0\u00a0kB'],
  [1_449, '1.4\u00a0kB'],
  [999_949, '999.9\u00a0kB'],
  [999_950, '1.0\u00a0MB'],
  [12_345_678, '12.3\u00a0MB'],
  [5e12, '5.0\u00a0TB'],
  [Number.MAX_SAFE_INTEGER, '9.0\u00a0PB'],
  [9e20, '900000.0\u00a0PB'],
] as const)
  test(`${bytes} bytes are ${words}`, (t) => {
    t.is(bytesInWords(bytes), words);
  });

for (const [seconds, words] of [
  [-5, '1 minute'],
  [60, '1 minute'],
  [61, '2 minutes'],
  [900, '15 minutes'],
] as const)
  test(`${seconds} s are ${words}`, (t) => {
    const now = new Date('2026-11-23T12:00:00Z');
    t.is(minutesUntil(new Date(now.getTime() + seconds * 1_000), now), words);
  });

for (const [seconds, words] of [
  [-5, '0 seconds ago'],
  [8, '8 seconds ago'],
  [60, '1 minute ago'],
  [7_199, '1 hour ago'],
  [3 * 86_400, '3 days ago'],
  [40 * 86_400, '2026-10-14'],
] as const)
  test(`a time ${seconds} s before is ${words}`, (t) => {
    const nowMs = Date.UTC(2026, 10, 23);
    t.is(agoInWords(new Date(nowMs - seconds * 1_000), nowMs), words);
  });

test('a time that comes is so far away', (t) => {
  const nowMs = Date.UTC(2026, 10, 23);
  t.is(awayInWords(new Date(nowMs + 71 * 3_600_000), nowMs), 'in 2 days');
  t.is(awayInWords(new Date(nowMs), nowMs), '0 seconds ago');
});

for (const [time, words] of [
  ['2026-11-26T17:00:00.000Z', '2026-11-26 17:00 UTC'],
  ['2026-11-26T00:00:00.999Z', '2026-11-26 00:00 UTC'],
  ['2026-11-26T17:00:05.000Z', '2026-11-26 17:00:05 UTC'],
] as const)
  test(`${time} is ${words}`, (t) => {
    t.is(utcInWords(new Date(time)), words);
  });

test('without scripts a time of the API is said to the second', (t) => {
  t.is(timeInWords('2026-11-30T21:00:02.386000Z'), '2026-11-30 21:00:02 UTC');
  t.is(timeInWords('never'), 'never');
});
