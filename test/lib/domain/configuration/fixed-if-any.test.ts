// What commands read of the settings that the environment fixes: what the gateway reads.

import test from 'ava';
import { fixedIfAny } from '../../../../lib/domain/configuration/fixed-if-any.ts';
import { fixedSettingsOf } from '../../../../lib/domain/configuration/fixed-settings.ts';
import { configOf } from '../../../support/api/server.ts';

test('what is fixed is read, and nothing where nothing is fixed', async (t) => {
  t.deepEqual(await fixedIfAny(configOf()), {});
  const config = configOf({ DEFAULT_ACTION: 'drop', VPN_SESSION_DURATION: '60' });
  t.deepEqual(await fixedIfAny(config), { default_action: 'drop', vpn_session_duration: 60 });
  t.deepEqual(await fixedIfAny(config), fixedSettingsOf(config));
  const bad = { ...configOf(), configurationTexts: { LOCAL_AUTH_ENABLED: 'perhaps' } };
  await t.throwsAsync(fixedIfAny(bad), {
    message: /LOCAL_AUTH_ENABLED is invalid/,
  });
});
