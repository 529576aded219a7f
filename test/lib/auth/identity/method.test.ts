// Names of ways to sign in: no provider can pass for another, nor for a password.

import test from 'ava';
import { methodOf, providerOf, shownMethod } from '../../../../lib/auth/identity/method.ts';

test('kind and id make a method, which shows the id', (t) => {
  t.is(methodOf('oidc', 'okta'), 'oidc/okta');
  t.not(methodOf('oidc', 'okta'), methodOf('saml', 'okta'));
  t.is(shownMethod(methodOf('saml', 'email')), 'email');
  t.not(methodOf('saml', 'email'), 'email');
  t.is(shownMethod('email'), 'email');
  t.deepEqual(providerOf('oidc/a.b-c_d'), { kind: 'oidc', providerId: 'a.b-c_d' });
  for (const other of ['email', 'okta', 'ldap/okta', '']) t.is(providerOf(other), null);
});
