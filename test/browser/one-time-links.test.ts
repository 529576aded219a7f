// One-time links in a real browser: made by an administrator, opened by the person, and no longer
// good after that; and the link for a forgotten password, which arrives by mail.

import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { openSmtpServer } from '../support/network/smtp-server.ts';
import {
  inspect,
  make,
  openBrowser,
  openMenu,
  signIn,
  type Stage,
} from '../support/web/browser.ts';

/** Every page is inspected in four looks, on a machine that others use too. */
const LONG_MS = 300_000;

const PASSWORD = 'staple staple staple';
const GONE = 'This link is no longer good';

async function choose(page: Page, password: string, again: string): Promise<void> {
  await page.getByLabel('New password', { exact: true }).fill(password);
  await page.getByLabel('New password again').fill(again);
  await page.getByRole('button', { name: /Choose password|Change password/ }).click();
}

/** Makes a link for a user by their page, and returns it. */
async function makeLink(t: ExecutionContext, page: Page, id: string): Promise<string> {
  await page.goto(`/users/${id}`);
  await page.getByRole('link', { name: 'Make a one-time link' }).click();
  t.is((await page.getByLabel('E-mails').inputValue()).trim(), 'ann@example.com');
  await page.getByRole('button', { name: 'Make the links' }).click();
  await page.getByRole('heading', { name: 'The link is made' }).waitFor();
  return page.getByLabel('Link', { exact: true }).inputValue();
}

async function openStage(t: ExecutionContext, settings: Record<string, string> = {}) {
  const stage: Stage = await openBrowser(t, settings);
  const id = await make(stage, 'user', { email: 'ann@example.com' });
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  return { stage, id, page };
}

test('a link lets its person in once, and the page of the user follows it', async (t) => {
  t.timeout(LONG_MS);
  const { stage, id, page } = await openStage(t);
  await page.goto('/users/enrol');
  await inspect(t, page, 'console-enrol');
  await page.getByLabel('E-mails').fill('bob');
  await page.getByRole('button', { name: 'Make the links' }).click();
  await page.getByText('is no e-mail address').waitFor();
  await inspect(t, page, 'console-enrol-refused');
  await page.getByLabel('E-mails').fill('bob@example.com\ncarol@example.com');
  await page.getByRole('button', { name: 'Make the links' }).click();
  await page.getByRole('heading', { name: 'The links are made' }).waitFor();
  await inspect(t, page, 'console-enrolled-many');
  const replaced = await makeLink(t, page, id);
  const link = await makeLink(t, page, id);
  await inspect(t, page, 'console-enrolled');
  await page.goto(`/users/${id}`);
  await page.getByText('open until').waitFor();
  await inspect(t, page, 'console-user-link');

  const ann = await stage.person();
  await ann.goto(replaced);
  await ann.getByRole('heading', { name: GONE }).waitFor();
  await ann.goto(link);
  await inspect(t, ann, 'one-time-link');
  await choose(ann, PASSWORD, 'another one entirely');
  await ann.locator('.error').first().waitFor();
  await inspect(t, ann, 'one-time-link-refused');
  await choose(ann, PASSWORD, PASSWORD);
  await ann.waitForURL('/user_devices/new');

  const stranger = await stage.person();
  await stranger.goto(link);
  await stranger.getByRole('heading', { name: GONE }).waitFor();
  await inspect(t, stranger, 'one-time-link-used');
  await page.reload();
  await page.locator('dd', { hasText: 'used' }).first().waitFor();
  t.is(await page.getByRole('button', { name: 'Revoke the one-time link' }).count(), 0);

  const other = await makeLink(t, page, id);
  await page.goto(`/users/${id}`);
  await openMenu(page);
  await page.getByRole('button', { name: 'Revoke the one-time link' }).click();
  await page.getByText('The one-time link is revoked.').waitFor();
  await stranger.goto(other);
  await stranger.getByRole('heading', { name: GONE }).waitFor();
});

test('a forgotten password is chosen anew by a link in a mail', async (t) => {
  t.timeout(LONG_MS);
  const smtp = await openSmtpServer(t);
  const { stage, id, page } = await openStage(t, smtp.settings);
  await page.goto(`/users/enrol?email=ann%40example.com`);
  await page.getByLabel('Send the links by e-mail').check();
  await inspect(t, page, 'console-enrol-mail');
  await page.getByRole('button', { name: 'Make the links' }).click();
  await page.getByText('The mails are on their way.').waitFor();
  await inspect(t, page, 'console-enrolled-mailed');
  await smtp.waitFor(1);
  const linkIn = (text = ''): string => /^http\S+\/one_time_links\/\S+$/m.exec(text)?.[0] ?? '';
  const ann = await stage.person();
  await ann.goto(linkIn(smtp.mails[0]?.text));
  await choose(ann, PASSWORD, PASSWORD);
  await ann.waitForURL('/user_devices/new');

  const forgetful = await stage.person();
  await forgetful.goto('/');
  await inspect(t, forgetful, 'sign-in-with-mail');
  await forgetful.getByLabel('E-mail').fill('ann@example.com');
  await forgetful.getByRole('button', { name: 'Forgot password?' }).click();
  await forgetful.getByRole('heading', { name: 'Forgot password' }).waitFor();
  await inspect(t, forgetful, 'forgotten-password');
  t.is(await forgetful.getByLabel('E-mail').inputValue(), 'ann@example.com');
  await forgetful.getByRole('button', { name: 'Send me a link' }).click();
  await forgetful.getByText('a mail is on its way').waitFor();
  await inspect(t, forgetful, 'forgotten-password-asked');
  await smtp.waitFor(2);
  await forgetful.goto(linkIn(smtp.mails[1]?.text));
  await inspect(t, forgetful, 'password-reset');
  await choose(forgetful, `${PASSWORD}!`, `${PASSWORD}!`);
  await forgetful.waitForURL('/user_devices');
  await ann.goto('/user_devices');
  await ann.getByRole('button', { name: 'Sign in' }).waitFor();

  smtp.manners.refuses = { RCPT: '550 no' };
  await makeLink(t, page, id);
  await page.goto(`/users/enrol?email=ann%40example.com`);
  await page.getByLabel('Send the links by e-mail').check();
  await page.getByRole('button', { name: 'Make the links' }).click();
  await page.getByText('The mails are on their way.').waitFor();
  await page.goto(`/users/${id}`);
  await page.getByText('The mail server refused the mail').waitFor();
  await inspect(t, page, 'console-user-mail-refused');
});
