// One's own account in a real browser: password, second factors, sessions.

import { Secret, TOTP } from 'otpauth';
import test from 'ava';
import type { Page } from 'playwright-core';
import { inspect, openBrowser, signedIn, signIn } from '../support/web/browser.ts';
import { FIRST_ADMIN } from '../support/gateway/gateway-process.ts';

const NEW = 'staple staple staple';
/** How long a code is shown (RFC 6238, 4.1). */
const STEP_MS = 30_000;

/** What the authenticator shows; `steps` half minutes from now. */
function codeOf(secret: string, steps = 0): string {
  const timestamp = Date.now() + steps * STEP_MS;
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
}

/** Waits where the step of a code is nearly over: one of the step before would come too late. */
async function waitForRoom(page: Page): Promise<void> {
  const leftMs = STEP_MS - (Date.now() % STEP_MS);
  if (leftMs < 10_000) await page.waitForTimeout(leftMs);
}

/** Sets a second factor up as a person without a camera does. */
async function enrol(page: Page): Promise<{ secret: string; codes: string[] }> {
  await page.goto('/user_account/register_mfa');
  const secret = (await page.locator('code').innerText()).replaceAll(' ', '');
  await waitForRoom(page);
  await page.getByLabel('Code', { exact: true }).fill(codeOf(secret, -1));
  await page.getByRole('button', { name: 'Add it' }).click();
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
  return { secret, codes: await page.locator('.codes code').allInnerTexts() };
}

test('a second factor is set up, asked for, and reset by an administrator', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const page = await person();
  await signIn(page);
  await page.goto('/user_account');
  await inspect(t, page, 'account');
  await page.getByRole('link', { name: 'Add a second factor' }).click();
  await inspect(t, page, 'register-mfa');
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await page.getByRole('button', { name: 'Add it' }).click();
  await page.getByText('This is not the code that your authenticator shows now').waitFor();
  await inspect(t, page, 'register-mfa-refused');
  const { secret, codes } = await enrol(page);
  t.is(codes.length, 10);
  await page.getByRole('button', { name: 'Copy' }).waitFor();
  await inspect(t, page, 'recovery-codes');
  await page.getByRole('link', { name: 'I have saved the codes' }).click();
  await page.getByText('10 recovery codes are left').waitFor();
  await inspect(t, page, 'account-with-factor');
  await page.getByRole('link', { name: 'Remove Phone' }).click();
  await inspect(t, page, 'remove-factor');

  await page.goto('/user_account/register_mfa');
  await inspect(t, page, 'register-mfa-another');
  const tablet = (await page.locator('code').innerText()).replaceAll(' ', '');
  await page.getByLabel('Name').fill('Tablet');
  await waitForRoom(page);
  await page.getByLabel('Code of the new one').fill(codeOf(tablet, -1));
  await page.getByLabel('Code of one that you have').fill(codes[0] ?? '');
  await page.keyboard.press('Enter');
  await page.getByText('The second factor “Tablet” is set up.').waitFor();

  const code = codeOf(secret);
  const other = await person();
  await signIn(other);
  await other.waitForURL('/mfa/auth');
  await inspect(t, other, 'second-factor');
  await other.goto('/user_account');
  t.is(new URL(other.url()).pathname, '/mfa/auth', 'nothing else is reachable');
  await other.getByLabel('Code').fill(code);
  await other.keyboard.press('Enter');
  await other.getByText(FIRST_ADMIN.email).first().waitFor();

  const third = await person();
  await signIn(third);
  await third.waitForURL('/mfa/auth');
  await third.getByLabel('Code').fill(code);
  await third.getByRole('button', { name: 'Continue' }).click();
  await third.getByText('This code is wrong').waitFor();
  await inspect(t, third, 'second-factor-refused');
  await third.getByLabel('Code').fill(codes[3] ?? '');
  await third.getByRole('button', { name: 'Continue' }).click();
  await third.getByText(FIRST_ADMIN.email).first().waitFor();

  t.regex(
    await gateway.command('user', 'reset-mfa', '--email', FIRST_ADMIN.email),
    /^2 second factors/,
  );
  await third.reload();
  t.is(new URL(third.url()).pathname, '/');
  await signIn(third);
  await third.waitForURL('/dashboard');
});

test('another password signs the other browser out', async (t) => {
  const { person } = await openBrowser(t);
  const [page, other] = [await person(), await person()];
  await signIn(other);
  await signedIn(other);
  await signIn(page);
  await page.goto('/user_account');
  await page.getByRole('button', { name: 'Sign out everywhere else' }).waitFor();
  await inspect(t, page, 'account-two-sessions');
  await page.getByRole('link', { name: 'Change password' }).click();
  await inspect(t, page, 'change-password');
  await page.getByLabel('Present password').fill('not this one');
  await page.getByLabel('New password', { exact: true }).fill(NEW);
  await page.getByLabel('New password again').fill(`${NEW}x`);
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('The two entries are not the same').waitFor();
  await inspect(t, page, 'change-password-refused');
  await page.getByLabel('Present password').fill(FIRST_ADMIN.password);
  await page.getByLabel('New password', { exact: true }).fill(NEW);
  await page.getByLabel('New password again').fill(NEW);
  await page.keyboard.press('Enter');
  await page.getByText('Your password is changed').waitFor();
  await inspect(t, page, 'account-done');
  await other.reload();
  t.is(new URL(other.url()).pathname, '/');
  await signIn(other, { email: FIRST_ADMIN.email, password: NEW });
  await other.waitForURL('/dashboard');
});
