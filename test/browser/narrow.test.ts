// Lists in a narrow window, where tables are shown as cards.

import test from 'ava';
import { inspect, make, openBrowser, signedIn, signIn } from '../support/web/browser.ts';

const PHONE = { width: 390, height: 780 };

test('a long description is cut in lists', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const description = 'word '.repeat(400).trim();
  const public_key = Buffer.alloc(32, 9).toString('base64');
  await make(stage, 'device', { user_id, public_key, name: 'laptop', description });
  const shorter = description.slice(0, 249);
  const rule = { action: 'drop', destination: '10.0.0.1', description: shorter };
  await make(stage, 'rule', rule);
  const page = await stage.person({ viewport: PHONE });
  await signIn(page);
  await signedIn(page);
  for (const path of [`/users/${user_id}`, '/rules']) {
    await page.goto(path);
    const box = await page.getByText(shorter).first().boundingBox();
    t.true(box !== null && box.height < 100, `${path}: ${box?.height}`);
  }
});

test('rows are sorted and selected in a narrow window too', async (t) => {
  const stage = await openBrowser(t);
  for (const name of ['ann', 'bob']) await make(stage, 'user', { email: `${name}@example.com` });
  const page = await stage.person({ viewport: PHONE });
  await signIn(page);
  await signedIn(page);
  await page.goto('/users');
  await inspect(t, page, 'narrow-users');
  const heads = "[...document.querySelectorAll('th:has(a, input)')]";
  const heights = await page.evaluate<number[]>(`${heads}.map((one) => one.clientHeight)`);
  t.true(heights.length > 1 && heights.every((height) => height > 10), String(heights));
  await page.getByLabel('Select all on this page').check();
  t.is(await page.locator('tbody input[name=id]:checked').count(), 3);
  await page.locator('thead a').first().click();
  await page.waitForURL(/sort=/);
});

test('a long e-mail is cut beside the name of the gateway, and never touches it', async (t) => {
  const stage = await openBrowser(t);
  const password = 'correct horse battery';
  const email = 'bartholomew.fernandez-garcia@branch-office.example.com';
  await make(stage, 'user', { email, password, password_confirmation: password });
  const page = await stage.person({ viewport: PHONE });
  await signIn(page, { email, password });
  await signedIn(page);
  const [end = 0, start = 0] = await page.evaluate<number[]>(
    "['.brand span', '.who'].map((name) => document.querySelector(name).getBoundingClientRect()).map(({ left, right }, i) => [right, left][i])",
  );
  t.true(start - end >= 8, `${end} and ${start}`);
});
