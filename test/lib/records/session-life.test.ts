// Who may be signed in. Until when a session lives is asked of a server: lib/auth/sessions.ts.

import test from 'ava';
import { maySignIn } from '../../../lib/records/session-life.ts';

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
