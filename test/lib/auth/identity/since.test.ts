// Since when a sign-in through a provider counts.

import test from 'ava';
import { provenSince } from '../../../../lib/auth/identity/since.ts';
import { RECENT_ADMINISTRATION_MS } from '../../../../lib/kit/records/session-life.ts';

const NOW = new Date('2026-11-28T12:00:00Z');

test('what the provider says counts, but no time to come', (t) => {
  const before = new Date(NOW.getTime() - 3_600_000);
  for (const isAsked of [true, false]) {
    t.deepEqual(provenSince(before, isAsked, NOW), before);
    t.is(provenSince(new Date(NOW.getTime() + 1_000), isAsked, NOW), undefined);
  }
});

test('a provider that says nothing is believed only where it was asked', (t) => {
  t.is(provenSince(null, true, NOW), undefined);
  const since = provenSince(null, false, NOW) ?? NOW;
  t.true(NOW.getTime() - since.getTime() >= RECENT_ADMINISTRATION_MS);
});
