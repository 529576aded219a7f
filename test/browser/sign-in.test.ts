// Signing in and out in a real browser, with the mouse, the keyboard and without any script.

import test from 'ava';
import { inspect, openBrowser, signedIn, signIn } from '../support/web/browser.ts';
import { FIRST_ADMIN } from '../support/gateway/gateway-process.ts';

test('a person signs in, is led on, and signs out', async (t) => {
  const { person } = await openBrowser(t);
  const page = await person();
  await page.goto('/user_account');
  await inspect(t, page, 'sign-in');
  await page.getByLabel('E-mail').fill(FIRST_ADMIN.email);
  await page.getByLabel('Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  t.regex(await page.getByRole('alert').innerText(), /user credentials are invalid/);
  t.is(await page.getByLabel('E-mail').inputValue(), FIRST_ADMIN.email);
  await inspect(t, page, 'sign-in-refused');
  await page.getByLabel('Password').fill(FIRST_ADMIN.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('/user_account');
  await page.getByRole('button', { name: FIRST_ADMIN.email }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('/');
  await page.goBack();
  t.is(await page.getByText(FIRST_ADMIN.email).count(), 0, 'no page is kept after signing out');
});

test('the keyboard is enough, and scripts are not needed', async (t) => {
  const { person } = await openBrowser(t);
  const page = await person({ javaScriptEnabled: false });
  await page.goto('/');
  await page.getByLabel('E-mail').focus();
  await page.keyboard.type(FIRST_ADMIN.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(FIRST_ADMIN.password);
  await page.keyboard.press('Enter');
  await signedIn(page);
  t.is(new URL(page.url()).pathname, '/dashboard');
});

test('the first stop of the keyboard leads past the navigation', async (t) => {
  const { person } = await openBrowser(t);
  const page = await person();
  await signIn(page);
  await signedIn(page);
  await page.keyboard.press('Tab');
  t.is(await page.evaluate('document.activeElement.className'), 'skip');
  await page.keyboard.press('Enter');
  // Chromium moves the focus with its next frame, not with the key.
  await page.locator('#main:focus').waitFor();
  t.is(await page.evaluate('document.activeElement.id'), 'main');
});

test('what is not there says so in words', async (t) => {
  const { person } = await openBrowser(t);
  const page = await person();
  await page.goto('/nothing');
  await inspect(t, page, 'not-found');
  await signIn(page);
  await signedIn(page);
  await page.goto('/nothing');
  await inspect(t, page, 'not-found-signed-in');
});
