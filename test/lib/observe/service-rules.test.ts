// Which handshakes and sign-ins count, by the rules with which devices are searched.

import test from 'ava';
import { ONLINE_MS } from '../../../lib/observe/presence.ts';
import { serviceRules } from '../../../lib/observe/service-rules.ts';
import { configOf } from '../../support/api/server.ts';

const NOW_MS = Date.UTC(2026, 10, 30);

test('a device is online as long as its keys serve, and a session as long as it is set', (t) => {
  const rules = (seconds: number, settings: Record<string, string> = {}) =>
    serviceRules(
      { configuration: { vpn_session_duration: seconds }, config: configOf(settings) },
      NOW_MS,
    );
  t.deepEqual(rules(3_600), {
    now: new Date(NOW_MS),
    onlineSince: new Date(NOW_MS - ONLINE_MS),
    sessionsSince: new Date(NOW_MS - 3_600_000),
    requireSignIn: false,
  });
  t.is(rules(0).sessionsSince, null, 'sessions do not end');
  t.true(rules(1, { VPN_SESSION_REQUIRE_SIGN_IN: 'true' }).requireSignIn);
});
