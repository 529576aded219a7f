// Which time a history is about, in which steps, as time passes.

import test from 'ava';
import { POINTS_MAX, spanOf, startsOf } from '../../../../lib/observe/history/span.ts';
import type { Errors } from '../../../../lib/kit/validation/validate.ts';

const HOUR = 3_600;
const DAY = 86_400;
/** Five minutes and five seconds past an hour. */
const NOW = 1_800_000_000 - (1_800_000_000 % DAY) + 5 * HOUR + 305;

function ask(from: number | null, to: number | null = null, step?: 600 | 3_600 | 86_400) {
  const errors: Errors = {};
  const at = (time: number): Date => new Date(time * 1_000);
  const span = spanOf(
    {
      ...(from === null ? {} : { from: at(from) }),
      ...(to === null ? {} : { to: at(to) }),
      ...(step === undefined ? {} : { step }),
    },
    at(NOW),
    errors,
  );
  return span ?? Object.keys(errors);
}

test('left out: a day until now, in whole steps around it', (t) => {
  t.deepEqual(ask(null), { from: NOW - 305 - DAY, to: NOW + 295, step: 600 });
  t.deepEqual(ask(null, NOW - HOUR), {
    from: NOW - 305 - DAY - HOUR,
    to: NOW + 295 - HOUR,
    step: 600,
  });
  t.deepEqual(startsOf({ from: 600, to: 1_800, step: 600 }), [600, 1_200]);
});

test('the shortest step that is kept since the beginning, to the second', (t) => {
  const hours = NOW - 305 - 48 * HOUR;
  t.like(ask(hours), { from: hours, step: 600 });
  t.like(ask(hours - 1), { step: 3_600 });
  t.deepEqual(ask(hours - 1, null, 600), ['step']);
  const days = NOW - 305 - 5 * HOUR - 14 * DAY;
  t.like(ask(days), { from: days, step: 3_600 });
  t.like(ask(days - 1), { from: days - DAY, step: 86_400 });
  t.deepEqual(ask(days - 1, null, 3_600), ['step']);
  t.like(ask(NOW - HOUR, null, 86_400), { from: NOW - 305 - 5 * HOUR, step: 86_400 });
});

test('nothing is known of the future, and there is an end to the past', (t) => {
  t.like(ask(NOW - 5, NOW + DAY), { from: NOW - 305, to: NOW + 295 });
  t.deepEqual(ask(NOW, NOW + DAY), ['from']);
  t.deepEqual(ask(NOW, NOW - 1), ['from']);
  t.deepEqual(ask(NOW - 1, NOW), { from: NOW - 305, to: NOW + 295, step: 600 });
  t.like(ask(NOW - (POINTS_MAX - 2) * DAY), { step: 86_400 });
  t.deepEqual(ask(NOW - (POINTS_MAX + 1) * DAY), ['from']);
  t.deepEqual(ask(-1), ['from']);
});
