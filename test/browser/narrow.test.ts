// Lists in a narrow window, where tables are shown as cards.

import test from 'ava';
import { make, openBrowser, signIn } from '../support/web/browser.ts';

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
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  for (const path of ['/devices', `/users/${user_id}`, '/rules']) {
    await page.goto(path);
    const box = await page.getByText(shorter).first().boundingBox();
    t.true(box !== null && box.height < 100, `${path}: ${box?.height}`);
  }
});
