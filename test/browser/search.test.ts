// The navigation and the search for everything in a real browser: by keys, on a phone, and looked at.

import test from 'ava';
import { inspect, make, openBrowser, signedIn, signIn } from '../support/web/browser.ts';

test('the key / leads to the search, and is switched off under Account', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const public_key = Buffer.alloc(32, 9).toString('base64');
  await make(stage, 'device', { user_id, public_key, name: 'ann-phone' });
  const page = await stage.person();
  await signIn(page);
  await signedIn(page);
  await page.goto('/search');
  await page.keyboard.press('/');
  await page.keyboard.type('an/n');
  const field = page.getByLabel('Search for everything');
  t.is(await field.inputValue(), 'an/n', 'within a field it is a letter');
  await field.fill('ann');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'ann-phone' }).waitFor();
  await page.getByRole('link', { name: 'ann@example.com' }).waitFor();
  await inspect(t, page, 'console-search');
  await page.goto('/user_account');
  const key = page.getByLabel('The key / leads to the search');
  t.true(await key.isChecked());
  await key.uncheck();
  await page.reload();
  t.false(await key.isChecked());
  await page.keyboard.press('/');
  t.not(await page.evaluate('document.activeElement.id'), 'everything');
  await key.check();
  await key.blur();
  await page.keyboard.press('/');
  t.is(await page.evaluate('document.activeElement.id'), 'everything');
});

test('on a phone all pages open behind More, also without scripts', async (t) => {
  const stage = await openBrowser(t);
  const viewport = { width: 390, height: 800 };
  const page = await stage.person({ viewport, javaScriptEnabled: false });
  await signIn(page);
  await signedIn(page);
  const audit = page.getByRole('link', { name: 'Audit log' });
  t.false(await audit.isVisible());
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await audit.click();
  await page.waitForURL('/audit');
  await page.getByRole('link', { name: 'Devices' }).click();
  await page.waitForURL('/devices');
  const bar = await page.locator('.quick').boundingBox();
  t.is(Math.round((bar?.y ?? 0) + (bar?.height ?? 0)), 800, 'it stays at the bottom');
});
