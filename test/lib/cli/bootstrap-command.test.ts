// `postern token make-bootstrap`: the settings take what it makes.

import test from 'ava';
import { makeBootstrapToken } from '../../../lib/cli/bootstrap-command.ts';
import { configOf } from '../../../lib/testing/settings.ts';

test('it makes another token each time, which the setting takes', (t) => {
  const [one, other] = [makeBootstrapToken(), makeBootstrapToken()];
  t.not(one.text, other.text);
  t.deepEqual(one.data, { token: one.text });
  t.is(configOf({ BOOTSTRAP_API_TOKEN: one.text }).bootstrapApiToken, one.text);
  t.regex(String(one.note), /BOOTSTRAP_API_TOKEN_FILE/);
});
