// Tabs that are addresses.

import test from 'ava';
import { tabsOf } from '../../../../lib/web/parts/record-tabs.ts';

test('the tabs of a record are addresses, and one of them is the present page', (t) => {
  const pages = [
    ['', 'Overview'],
    ['/edit', 'Settings'],
  ] as const;
  t.deepEqual(tabsOf('/devices/7', pages, '/edit'), [
    { href: '/devices/7', label: 'Overview', isCurrent: false },
    { href: '/devices/7/edit', label: 'Settings', isCurrent: true },
  ]);
});
