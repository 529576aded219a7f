// Settings of gateways in tests: nothing from the environment of the process, no files, no
// mistakes.

import process from 'node:process';
import test from 'ava';
import { fixedSettingsOf } from '../../../lib/domain/configuration/fixed-settings.ts';
import { configOf, testSettings } from '../../../lib/testing/settings.ts';

test.serial('the environment of the process is not used', (t) => {
  process.env['DEFAULT_ACTION'] = 'drop';
  t.teardown(() => delete process.env['DEFAULT_ACTION']);
  t.deepEqual(fixedSettingsOf(configOf()), {});
});

test('each gateway has a password and a token of its own', (t) => {
  const [one, other] = [testSettings({}), testSettings({})];
  t.not(one.administrator.password, other.administrator.password);
  t.not(one.administrator.token, other.administrator.token);
  t.is(one.config.apiRateLimit, 0);
});

test('all errors are reported at once', (t) => {
  t.throws(() => testSettings({ DEFAULT_ACTION: 'x', HTTP_PORT: 'y', DEFAULT_CLIENT_MTU: 'z' }), {
    message: /HTTP_PORT[\s\S]*DEFAULT_ACTION[\s\S]*DEFAULT_CLIENT_MTU/,
  });
});

test('unknown names are refused, names of the configuration are accepted', (t) => {
  t.throws(() => testSettings({ DEFAULT_ACTON: 'drop', X: '1' }), {
    message:
      'DEFAULT_ACTON: no setting of that name; is DEFAULT_ACTION meant?\n' +
      'X: no setting of that name; docs/reference/settings.md lists them',
  });
  t.notThrows(() => testSettings({ DISABLE_VPN_ON_OIDC_ERROR: 'true' }));
});
