// The page “Would it pass?” in a real browser, asked of a whole gateway: from a device, from a rule, and with
// a mistake in it.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';

test('what becomes of a packet is asked from a device and from a rule', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const public_key = randomBytes(32).toString('base64');
  await make(stage, 'device', { user_id, name: 'laptop', public_key });
  await make(stage, 'rule', { action: 'drop', destination: '10.0.0.0/8' });
  const page = await stage.person();
  await signIn(page);
  await page.goto('/devices');
  await page.getByRole('link', { name: 'laptop' }).click();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('main').getByRole('link', { name: 'Would it pass?' }).click();
  await inspect(t, page, 'console-explain');
  await page.getByLabel('To', { exact: true }).fill('10.0.0.6');
  await page.getByLabel('Port').fill('22');
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByRole('heading', { name: 'It does not pass' }).waitFor();
  await inspect(t, page, 'console-explain-refused');
  await page.getByRole('link', { name: 'Drop 10.0.0.0/8' }).click();
  await page.getByRole('link', { name: 'Would a packet pass?' }).click();
  t.is(await page.getByLabel('To', { exact: true }).inputValue(), '10.0.0.0');
  await page.getByLabel('From').fill('laptpo');
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByText('No device is called “laptpo”').waitFor();
  await inspect(t, page, 'console-explain-mistake');
});
