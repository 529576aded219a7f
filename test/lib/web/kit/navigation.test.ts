// The navigation: who sees what, and where a user begins.

import test from 'ava';
import { homeOf, navigationOf } from '../../../../lib/web/kit/navigation.ts';

test('only administrators see the console', (t) => {
  t.deepEqual(navigationOf('unprivileged', '/').console, []);
  t.true(navigationOf('unprivileged', '/').portal.length > 0);
  t.deepEqual(navigationOf('admin', '/').portal, navigationOf('unprivileged', '/').portal);
});

test('the entry of the page that is shown, and of what lies behind it, is the current one', (t) => {
  const current = (path: string): string[] =>
    navigationOf('unprivileged', path)
      .portal.filter(({ isCurrent }) => isCurrent)
      .map((entry) => entry.path);
  t.deepEqual(current('/user_account'), ['/user_account']);
  t.deepEqual(current('/user_account/second_factors'), ['/user_account']);
  t.deepEqual(current('/user_accounts'), []);
});

test('everybody begins at a page that they see', (t) => {
  for (const role of ['admin', 'unprivileged'] as const) {
    const { console: admins, portal } = navigationOf(role, '/');
    t.is([...admins, ...portal][0]?.path, homeOf(role));
  }
});
