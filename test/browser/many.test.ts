// All records that a search found, selected in a real browser: the question with their number, the
// progress, and what became of them.

import test from 'ava';
import { inspect, openBrowser, signIn } from '../support/web/browser.ts';

const RULES = 600;

test('all that a search found are selected, asked about, and done', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const make = (i: number) =>
    gateway.call('POST', '/v0/rules', {
      rule: { action: 'drop', destination: `10.0.${i >> 8}.${i & 255}` },
    });
  for (let first = 0; first < RULES; first += 30) {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => make(first + i)));
    for (const { status } of answers) t.is(status, 201);
  }
  const page = await person();
  await signIn(page);
  await page.goto('/rules?state=drop');
  const bar = page.getByRole('group', { name: 'selected' });
  t.true(await bar.isHidden(), 'nothing is selected');
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
  await bar.getByText('50 selected').waitFor();
  // It stays in the window, wherever the page is.
  t.true(((await bar.boundingBox())?.y ?? 9_999) < 800);
  await bar.getByRole('button', { name: 'Clear' }).click();
  await bar.waitFor({ state: 'hidden' });
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
  await page.getByLabel('All 600 rules that match this search, on every page').check();
  await inspect(t, page, 'many-every');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByText('600 rules:').waitFor();
  await page.getByText('and 590 more').waitFor();
  await inspect(t, page, 'many-question');
  // The page as it comes: its script would put the end in its place while it is looked at.
  const script = '**/many-progress.js';
  await page.route(script, (route) => route.fulfill({ contentType: 'text/javascript', body: '' }));
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('progressbar').waitFor();
  await inspect(t, page, 'many-progress');
  await page.unroute(script);
  await page.reload();
  await page.getByText('600 rules are deleted.').waitFor();
  await inspect(t, page, 'many-done');
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByText('No rule is found').waitFor();
  t.is(new URL(page.url()).search, '?state=drop');

  for (let i = 0; i < 60; i += 1) await make(i);
  await page.goto('/rules');
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
  await page.getByLabel('All 60 rules that there are, on every page').check();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('60 rules are deleted.').waitFor();
});
