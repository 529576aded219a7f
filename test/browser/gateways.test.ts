// The gateways of the database in a real browser.

import test from 'ava';
import { inspect, openBrowser, signIn } from '../support/web/browser.ts';

test('the gateways are listed with their settings', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.getByRole('link', { name: 'Gateways' }).click();
  await page.getByText('It made this page.').waitFor();
  await page.getByText('up to date').waitFor();
  await inspect(t, page, 'console-gateways');
  await page.locator('summary').click();
  await page.getByText('EXTERNAL_URL').waitFor();
  await inspect(t, page, 'console-gateways-settings');
});
