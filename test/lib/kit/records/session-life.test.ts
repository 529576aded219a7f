// Who may be signed in, and what a clock that came back from the future leaves alive. Until when a
// session lives is asked of a server: lib/auth/sessions.ts.

import test from 'ava';
import {
  badToken,
  IDLE_MS,
  isAlive,
  isExpired,
  maySignIn,
} from '../../../../lib/kit/records/session-life.ts';

test('a session that a clock used that was far ahead is over', (t) => {
  const now = Date.parse('2026-11-21T08:00:00Z');
  const user = { disabled_at: null, disabled_by: null, disabled_provider: null };
  const session = (seenMs: number, begunMs = seenMs, state: 'open' | 'second factor' = 'open') => {
    const times = { seen_at: new Date(seenMs), inserted_at: new Date(begunMs) };
    return { state, method: 'email', user, ...times };
  };
  const year = 365 * 86_400_000;
  t.true(isAlive(session(now), now));
  t.true(isAlive(session(now + 3_600_000), now), 'a clock that is set back by an hour');
  t.false(isAlive(session(now + year), now));
  t.false(isAlive(session(now - IDLE_MS), now));
  t.true(isAlive(session(now, now, 'second factor'), now));
  t.false(isAlive(session(now, now + year, 'second factor'), now));
});

test('who is disabled may sign in only through the provider that disabled them', (t) => {
  const disabled_at = new Date();
  const rows: [boolean, Parameters<typeof maySignIn>[0]][] = [
    [true, { disabled_at: null, disabled_by: null, disabled_provider: null }],
    [true, { disabled_at, disabled_by: 'provider', disabled_provider: 'okta' }],
    [false, { disabled_at, disabled_by: 'provider', disabled_provider: 'other' }],
    [false, { disabled_at, disabled_by: 'provider', disabled_provider: null }],
    [false, { disabled_at, disabled_by: 'administrator', disabled_provider: 'okta' }],
    [false, { disabled_at, disabled_by: null, disabled_provider: null }],
  ];
  for (const [may, user] of rows) t.is(maySignIn(user, 'okta'), may, JSON.stringify(user));
});

test('a token is over at its end, and one without an end never', (t) => {
  const end = new Date('2026-11-25T10:00:00Z');
  t.false(isExpired(end, end.getTime() - 1));
  t.true(isExpired(end, end.getTime()));
  t.false(isExpired(null, Infinity));
  t.is(badToken(end).sentence, 'this token expired at 2026-11-25T10:00:00.000000Z');
  t.like(badToken(null, 'revoked_meanwhile'), { sentence: null, reason: 'revoked_meanwhile' });
});
