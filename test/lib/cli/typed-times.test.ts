// The times that are typed as options. More lines are in cli.test.ts.

import test from 'ava';
import { timesOf } from '../../../lib/cli/typed-times.ts';

test('a day begins in UTC, and a time without a zone is of UTC', (t) => {
  t.deepEqual(timesOf({ from: '2026-11-21', to: '2026-11-21T08:00:00+02:00' }), {
    from: new Date('2026-11-21T00:00:00Z'),
    to: new Date('2026-11-21T06:00:00Z'),
  });
  t.deepEqual(timesOf({ since: '2026-11-21T08:00:00' }), { since: new Date('2026-11-21T08:00Z') });
});

test('an end may be none, and a device may end never', (t) => {
  t.deepEqual(timesOf({ 'starts-at': 'none', 'ends-at': '2026-11-21' }), {
    startsAt: null,
    endsAt: new Date('2026-11-21T00:00:00Z'),
  });
  t.deepEqual(timesOf({ at: 'never' }), { at: null });
  t.deepEqual(timesOf({ at: '2026-11-21' }), {
    at: new Date('2026-11-21T00:00:00Z'),
    atDay: '2026-11-21',
  });
});

test('what is no time is named with its option', (t) => {
  const ofOption = (values: Parameters<typeof timesOf>[0]): string => {
    const times = timesOf(values);
    return 'error' in times ? times.error : '';
  };
  t.regex(ofOption({ from: 'noon' }), /^--from takes a date or a time, .*, not "noon"$/);
  t.regex(ofOption({ to: '2026-02-30' }), /^--to takes .*, not "2026-02-30"$/);
  t.regex(ofOption({ since: 'noon' }), /; or today or yesterday$/);
  t.regex(ofOption({ 'ends-at': 'noon' }), /; or none$/);
  t.regex(ofOption({ at: 'noon' }), /; or never$/);
});
