// The pages of one device: the same head on each, tabs that are addresses, and what each tells.

import test from 'ava';
import { addDevice } from '../../../models/fixtures.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';

const TABS = ['', '/connections', '/packets', '/network', '/edit'];

for (const kind of firstKind()) {
  test(`${kind}: each tab is an address of its own and has the same head`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database, plainUser } = console;
    const addresses = { ipv4: '100.64.0.9', ipv6: 'fd00::9' };
    const { id } = await addDevice(database, plainUser, { name: NASTY, ...addresses });
    const here = `/devices/${id}`;
    await checkGuard(t, console, { pages: TABS.map((tab) => here + tab) });
    for (const tab of [...TABS, '/capture']) {
      const page = await admin.get(here + tab);
      checkText(t, page, tab);
      const current = tab === '/capture' ? '/packets' : tab;
      t.true(page.text.includes(`<a href="${here}${current}" aria-current="page">`), tab);
      for (const part of [
        `<a href="/users/${plainUser.id}">user@example.com</a>`,
        '<span class="mono" id="address-0">100.64.0.9</span>',
        'data-copied="fd00::9"',
        '<span class="badge calm" data-value="state">Never seen</span>',
        `action="${here}/switches"`,
        '>Switch off</button>',
        `action="${here}/delete"`,
      ])
        t.true(page.text.includes(part), `${tab}: ${part}`);
    }
    for (const tab of TABS)
      for (const bad of ['x', '00000000-0000-0000-0000-000000000000'])
        t.is((await admin.get(`/devices/${bad}${tab}`)).status, 404, tab);
    const old = await admin.get(`${here}?range=1h`);
    t.is(old.location, `${here}/connections?range=1h`, 'the traffic was there once');
  });

  test(`${kind}: an end that cannot be read is shown again in the settings, at its field`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = await addDevice(database, plainUser);
    const page = await admin.get(`/devices/${id}/edit`);
    t.true(page.text.includes('name="expires_at"'));
    const bad = await admin.post(`/devices/${id}/switches`, { do: 'expire', expires_at: 'soon' });
    t.is(bad.status, 422);
    t.true(bad.text.includes(`<a href="/devices/${id}/edit" aria-current="page">Settings</a>`));
    t.regex(bad.text, /name="expires_at"[^>]* aria-describedby="[^"]*field-expires_at-error"/);
    t.true(bad.text.includes('value="soon"'));
  });

  test(`${kind}: a packet of the device is asked about on its page`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = await addDevice(database, plainUser);
    const { text } = await admin.get(`/devices/${id}/packets`);
    t.regex(text, /<form method="get" action="\/explain">\s*<input type="hidden" name="device_id"/);
    for (const name of ['destination', 'protocol', 'port'])
      t.true(text.includes(` name="${name}"`), name);
    for (const path of ['flows', 'refusals'])
      t.true(text.includes(`href="/${path}?device_id=${id}"`), path);
  });
}
