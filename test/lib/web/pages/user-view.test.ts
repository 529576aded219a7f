// The pages of one user: the same head on each, and tabs that are addresses.

import test from 'ava';
import { addDevice } from '../../../models/fixtures.ts';
import { checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addPerson } from '../../../support/web/visitor.ts';

const TABS = ['', '/traffic', '/sign_in', '/edit'];

for (const kind of firstKind()) {
  test(`${kind}: each tab is an address of its own and has the same head`, async (t) => {
    const { admin, adminUser, database, plainUser } = await openConsole(t, kind);
    await addDevice(database, plainUser, { name: NASTY });
    const here = `/users/${plainUser.id}`;
    for (const tab of TABS) {
      const page = await admin.get(here + tab);
      checkText(t, page, tab);
      for (const part of [
        `<a href="${here}${tab}" aria-current="page">`,
        '<span class="badge good">Enabled</span>',
        `<a href="/devices?owner=${plainUser.id}">1 device</a>`,
        'href="/users/enrol?email=user%40example.com"',
        'href="/devices/new?user=user%40example.com"',
        `action="${here}/disable"`,
        `action="${here}/left"`,
        `action="${here}/delete"`,
      ])
        t.true(page.text.includes(part), `${tab}: ${part}`);
    }
    // Nobody disables or dismisses themselves.
    for (const tab of TABS) {
      const { text } = await admin.get(`/users/${adminUser.id}${tab}`);
      t.true(text.includes('(you)'), tab);
      t.false(text.includes(`action="/users/${adminUser.id}/disable"`), tab);
      t.false(text.includes(`action="/users/${adminUser.id}/left"`), tab);
    }
    const off = await addPerson(database, 'off@example.com', {
      disabled_at: new Date(),
      disabled_by: 'administrator',
    });
    const { text } = await admin.get(`/users/${off.id}/sign_in`);
    t.true(text.includes(`action="/users/${off.id}/enable"`));
    t.false(text.includes('Make a one-time link'));
  });
}
