// When the VPN session of a user ends, as people see it. docs/api.md#vpn-sessions.

import test from 'ava';
import { vpnSessionOf } from '../../../../lib/domain/devices/vpn-session.ts';
import type { UserRow } from '../../../../models/index.ts';

const SIGNED_IN = new Date('2026-11-21T08:00:00Z');
const user = (values: Partial<UserRow> = {}) =>
  ({ disabled_at: null, last_signed_in_at: SIGNED_IN, ...values }) as UserRow;
const lax = { vpnSessionRequireSignIn: false };
const strict = { vpnSessionRequireSignIn: true };

test('a session ends so many seconds after the sign-in, to the millisecond', (t) => {
  const end = SIGNED_IN.getTime() + 60_000;
  const at = (nowMs: number) => vpnSessionOf(user(), { vpn_session_duration: 60 }, lax, nowMs);
  t.deepEqual(at(end - 1), { endsAt: new Date(end), hasEnded: false });
  t.deepEqual(at(end), { endsAt: new Date(end), hasEnded: true });
});

test('a sign-in of a clock far ahead began no session, and none ends in years', (t) => {
  const now = SIGNED_IN.getTime() - 730 * 86_400_000;
  const at = (nowMs: number) => vpnSessionOf(user(), { vpn_session_duration: 3_600 }, lax, nowMs);
  t.deepEqual(at(now), { endsAt: null, hasEnded: true });
  t.false(at(SIGNED_IN.getTime() - 60_000).hasEnded, 'clocks of gateways differ a little');
});

test('0 and the greatest number never end', (t) => {
  for (const vpn_session_duration of [0, 2_147_483_647])
    t.deepEqual(vpnSessionOf(user(), { vpn_session_duration }, strict), {
      endsAt: null,
      hasEnded: false,
    });
});

test('who never signed in has a session that does not end, or has none', (t) => {
  const stranger = user({ last_signed_in_at: null });
  const configuration = { vpn_session_duration: 60 };
  t.deepEqual(vpnSessionOf(stranger, configuration, lax), { endsAt: null, hasEnded: false });
  t.deepEqual(vpnSessionOf(stranger, configuration, strict), { endsAt: null, hasEnded: true });
});
