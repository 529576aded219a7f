// What rows say against a device: the first bar counts, in the order in which people lift them.

import test from 'ava';
import { barOf } from '../../../../lib/domain/devices/bars.ts';
import { userRow } from '../../../support/reconcile/rows.ts';

const HOUR_MS = 3_600_000;
const rules = {
  configuration: { vpn_session_duration: 3_600 },
  config: { vpnSessionRequireSignIn: false },
};

test('each bar has its name, and the first one counts', (t) => {
  const early = new Date(Date.now() - 2 * HOUR_MS);
  const late = new Date(Date.now() + HOUR_MS);
  const well = userRow({ last_signed_in_at: new Date() });
  const idle = userRow({ last_signed_in_at: early });
  const gone = userRow({ last_signed_in_at: early, disabled_at: early });
  const device = { disabled_at: null, expires_at: null };
  t.is(barOf(rules, device, well), null);
  t.is(barOf(rules, { ...device, expires_at: late }, well), null);
  t.is(barOf(rules, device, idle), 'session_ended');
  t.is(barOf(rules, device, gone), 'owner_disabled');
  t.is(barOf(rules, device, undefined), 'not_served');
  const ended = { ...device, expires_at: early };
  t.is(barOf(rules, ended, gone), 'device_ended');
  t.is(barOf(rules, { ...ended, disabled_at: early }, gone), 'device_off');
});
