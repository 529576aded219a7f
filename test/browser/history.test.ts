// What was carried over time in a real browser: the chart is drawn from the table, on every page that
// has one, and the table says the same to those who cannot see it.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { newId, recordConnections, recordHistory } from '../../models/index.ts';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

test('the history of a device, a user, a rule and all gateways is drawn, and is a table', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const public_key = randomBytes(32).toString('base64');
  const device = await make(stage, 'device', { user_id, name: 'laptop', public_key });
  const rule = await make(stage, 'rule', { action: 'drop', destination: '10.0.0.0/8' });
  const { database } = stage.gateway;
  const now = Math.floor(Date.now() / 600_000) * 600;
  for (let i = 0; i < 100; i += 1) {
    const report = { start: now - i * 600, counts: [(i % 7) * 1_000_000, (i % 11) * 20_000_000] };
    await recordHistory(database, GATEWAY, 'device', [{ ...report, subject: device }]);
    await recordHistory(database, GATEWAY, 'rule', [{ ...report, subject: rule }]);
    await recordHistory(database, GATEWAY, 'gateway', [{ ...report, subject: '' }]);
  }
  const connection = { deviceId: device, gatewayId: GATEWAY, remoteIp: '2001:db8::1' };
  const ended = { disconnectedAt: now * 1_000, reason: 'silent' } as const;
  await recordConnections(database, [
    { id: newId(), ...connection, connectedAt: (now - 600) * 1_000, remotePort: 51_820, ...ended },
  ]);
  const page = await stage.person();
  await signIn(page);
  for (const [name, path] of [
    ['dashboard', '/dashboard'],
    ['device', `/devices/${device}/connections`],
    ['user', `/users/${user_id}/traffic`],
    ['rule', `/rules/${rule}`],
  ] as const) {
    await page.goto(path);
    const history = page.locator('#history');
    await history.locator('canvas').waitFor();
    t.is(await history.getByRole('img').getAttribute('aria-label'), 'Traffic of the last 24 hours');
    const rows = history.locator('tr[data-at]');
    t.false(await rows.first().isVisible());
    await inspect(t, page, `console-history-${name}`);
    await history.getByText('The same as a table').click();
    // A line for each of 100 steps but the two in which nothing was carried.
    t.is(await rows.count(), 98);
    t.true(await rows.first().isVisible());
    await history.getByRole('link', { name: '400 days' }).click();
    await page.locator('#history canvas').waitFor();
    t.is(await page.locator('#history').getByRole('img').count(), 1);
  }
  await page.goto(`/devices/${device}/connections?range=1h`);
  await page.getByText('[2001:db8::1]:51820').waitFor();
  await page.getByText('The same as a table').click();
  await inspect(t, page, 'console-history-table');
});
