// Networks behind a device and limits in a real browser: in the form of a device, on its page, and
// as settings; and the question about a host behind the device.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';

/** Every page is inspected in four looks, on a machine that others use too. */
const LONG_MS = 300_000;

test('a device gets networks and limits, and its page shows them', async (t) => {
  t.timeout(LONG_MS);
  const stage = await openBrowser(t);
  await make(stage, 'user', { email: 'ann@example.com' });
  const page = await stage.person();
  await signIn(page);
  await page.goto('/settings/limits');
  await page.getByLabel('Download of each device').fill('-5');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('.error').first().waitFor();
  await inspect(t, page, 'console-limits-refused');
  await page.getByLabel('Download of each device').fill('20000000');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The settings are in force.').waitFor();
  await inspect(t, page, 'console-limits');
  await page.goto('/settings/client_defaults');
  await page.getByLabel('Networks behind other devices').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The settings are in force.').waitFor();
  await inspect(t, page, 'console-client-defaults');

  await page.goto('/devices/new');
  await page.getByLabel('Owner').fill('ann@example.com');
  await page.getByLabel('Name').fill('router');
  // The script of the page closes it first.
  await page.locator('[data-own-key]:not([open])').waitFor();
  await page.getByText('Use a key pair of my own').click();
  const key = randomBytes(32).toString('base64');
  await page.getByLabel('Public key').fill(key);
  await page.getByLabel('Networks behind it').fill('0.0.0.0/0');
  await page.getByLabel('Download limit').fill('fast');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.locator('.error').first().waitFor();
  t.is(await page.getByLabel('Public key').inputValue(), key, 'a key of one’s own stays');
  await inspect(t, page, 'console-device-networks-refused');
  await page.getByLabel('Networks behind it').fill('10.77.0.0/24, 2001:db8:77::/64');
  await page.getByLabel('Download limit').fill('5 Mbit/s');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('router is added').waitFor();
  const { data } = (await stage.gateway.call('GET', '/v0/devices')).body;
  t.like(data, [{ public_key: key, limit_down: 5_000_000 }]);
  await page.getByRole('link', { name: '← router' }).click();
  await page.getByRole('main').getByRole('link', { name: 'Network' }).click();
  await page.getByText('10.77.0.0/24, 2001:db8:77::/64').waitFor();
  await inspect(t, page, 'console-device-networks');

  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('main').getByRole('link', { name: 'Would it pass?' }).click();
  await page.getByRole('main').getByText('More', { exact: true }).click();
  await page.getByLabel('Host behind the device').fill('10.77.0.4');
  await page.getByLabel('To', { exact: true }).fill('10.0.0.6');
  await page.getByLabel('Port').fill('22');
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByText('10.77.0.4', { exact: true }).waitFor();
  await inspect(t, page, 'console-explain-behind');
  await page.getByLabel('Host behind the device').fill('10.78.0.4');
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByText('name the network behind it').waitFor();
  t.is(await page.getByLabel('Host behind the device').inputValue(), '10.78.0.4');
});
