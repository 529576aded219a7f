// The navigation: who sees what, which entry a page belongs to, and where a user begins.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { consoleEntries, homeOf, navigationOf } from '../../../../lib/web/kit/navigation.ts';

const SHEET = join(import.meta.dirname, '../../../../lib/web/static/icons.css');

/** The paths of the entries that are the current one. */
function currentAt(path: string, role: 'admin' | 'unprivileged'): string[] {
  const { parts, own } = navigationOf(role, path);
  return [...parts.flatMap(({ list }) => list), ...own]
    .filter(({ isCurrent }) => isCurrent)
    .map((entry) => entry.path);
}

test('only administrators see the console', (t) => {
  const { parts, quick, own } = navigationOf('unprivileged', '/');
  t.deepEqual(parts, []);
  t.deepEqual(quick, []);
  t.deepEqual(
    own.map(({ path }) => path),
    ['/user_devices', '/user_account'],
  );
  t.deepEqual(navigationOf('admin', '/').own, own);
  t.is(navigationOf('admin', '/').quick.length, 4);
});

test('the nearest entry of the page that is shown is the current one, and it alone', (t) => {
  t.deepEqual(currentAt('/user_account', 'unprivileged'), ['/user_account']);
  t.deepEqual(currentAt('/user_account/second_factors', 'unprivileged'), ['/user_account']);
  t.deepEqual(currentAt('/user_accounts', 'unprivileged'), []);
  t.deepEqual(currentAt('/users', 'admin'), ['/users']);
  t.deepEqual(currentAt('/users/7', 'admin'), ['/users']);
  t.deepEqual(currentAt('/users/groups/7', 'admin'), ['/users/groups']);
  t.deepEqual(currentAt('/users/enrol', 'admin'), ['/users/invitations']);
  t.deepEqual(currentAt('/rules/policy_tests', 'admin'), ['/rules/policy_tests']);
  t.deepEqual(currentAt('/flows/ended', 'admin'), ['/flows']);
});

test('everybody begins at the first page that they see', (t) => {
  t.is(homeOf('admin'), '/dashboard');
  t.is(homeOf('unprivileged'), '/user_devices');
});

test('each entry has an icon that is there', (t) => {
  const sheet = readFileSync(SHEET, 'utf8');
  for (const { icon, path } of consoleEntries()) t.true(sheet.includes(`.i-${icon} {`), path);
});
