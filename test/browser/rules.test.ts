// A rule as a sentence in a real browser: whom it is for is chosen by keyboard, what it meets is
// said while it is typed, and a packet that does not pass leads to the rule that lets it pass.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';

/** What is typed while an answer takes a second, and how long after the last key each is asked. */
const TYPED_MEANWHILE = `new Promise((resolve) => {
  const field = document.querySelector('[name=destination]');
  const waits = [];
  let keyAt = 0;
  const fetched = window.fetch;
  window.fetch = async () => {
    waits.push(performance.now() - keyAt);
    await new Promise((later) => setTimeout(later, 1_000));
    return new Response('{"meaning":null,"meetings":[]}');
  };
  const type = () => {
    keyAt = performance.now();
    field.value += '1';
    field.dispatchEvent(new Event('input', { bubbles: true }));
  };
  for (const at of [0, 700, 1_200]) setTimeout(type, at);
  setTimeout(() => { window.fetch = fetched; resolve(waits); }, 2_800);
})`;

test('whom a rule is for is chosen by keyboard, and what it meets is said meanwhile', async (t) => {
  const stage = await openBrowser(t);
  const { status } = await stage.gateway.call('POST', '/v0/groups', {
    group: { name: 'Engineering' },
  });
  t.is(status, 201);
  await make(stage, 'user', { email: 'grace@example.com', name: 'Grace Hopper' });
  await make(stage, 'rule', { action: 'accept', destination: '10.0.0.0/8' });
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.goto('/rules/new');
  const waits = await page.evaluate<number[]>(TYPED_MEANWHILE);
  t.true(
    waits.length > 1 && waits.every((ms) => ms > 290),
    `asked ${waits.join(', ')} ms after a key`,
  );
  await page.getByLabel('Destination').fill('');
  let asked = 0;
  page.on('request', (request) => {
    if (request.url().includes('/rules/meets')) asked += 1;
  });
  await page.getByLabel('Destination').pressSequentially('10.1.2.3', { delay: 20 });
  await page.getByRole('heading', { name: 'Overlaps with' }).waitFor();
  t.true(asked <= 2, `${asked} questions for eight keys`);
  const whose = page.getByRole('combobox', { name: 'Who' });
  await whose.fill('engi');
  await page.getByRole('option', { name: 'group Engineering' }).waitFor();
  await inspect(t, page, 'rule-offers');
  await whose.press('ArrowDown');
  t.is(await whose.getAttribute('aria-activedescendant'), 'field-whose-offers-0');
  await whose.press('Enter');
  t.is(await whose.inputValue(), 'group Engineering');
  t.is(await page.getByRole('option', { name: 'group Engineering' }).count(), 0);
  await page.getByRole('heading', { name: 'Other rules for the same packets' }).waitFor();
  t.is(await page.getByRole('heading', { name: 'Overlaps with' }).count(), 0);
  await inspect(t, page, 'rule-typed');
  await whose.fill('hopper');
  await page.getByRole('option', { name: 'grace@example.com · Grace Hopper' }).click();
  t.is(await whose.inputValue(), 'grace@example.com');
  await whose.press('Enter');
  await page.getByText('The rule is in force.').waitFor();
  await page.getByText('Everything else.').waitFor();
});

test('without scripts a packet that does not pass leads to a rule that lets it pass', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const public_key = randomBytes(32).toString('base64');
  await make(stage, 'device', { user_id, name: 'laptop', public_key });
  const rule = { action: 'drop', destination: '10.0.0.0/8', port_type: 'tcp', port_range: '22' };
  await make(stage, 'rule', rule);
  const size = { width: 1_440, height: 900 };
  const page = await stage.person({ javaScriptEnabled: false, viewport: size });
  await signIn(page);
  await page.goto('/explain');
  await page.getByLabel('From').fill('laptop');
  await page.getByLabel('To', { exact: true }).fill('10.0.0.6');
  await page.getByLabel('Port').fill('22');
  await page.getByLabel('Port').press('Enter');
  const answer = page.getByRole('heading', { name: 'It does not pass: Drop 10.0.0.0/8' });
  await answer.waitFor();
  const change = page.getByRole('link', { name: 'Change the rule' });
  for (const part of [answer, page.getByText('All gates'), change]) {
    const box = await part.boundingBox();
    t.true(box !== null && box.y + box.height <= size.height, `nobody has to scroll: ${box?.y}`);
  }
  await page.getByText('All gates').click();
  t.true(await page.getByText('The device is switched on.').isVisible());
  await page.getByRole('link', { name: 'Accept this' }).click();
  t.is(await page.getByLabel('Who', { exact: true }).inputValue(), 'ann@example.com');
  await page.getByRole('link', { name: 'everyone', exact: true }).click();
  t.is(await page.getByLabel('Who', { exact: true }).inputValue(), 'everyone');
  await page.getByRole('link', { name: 'ann@example.com' }).click();
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('The rule is in force.').waitFor();
  await page.goto('/explain?from=laptop&destination=10.0.0.6&protocol=tcp&port=22');
  // The device is not connected, and here is no way to the address; the rule lets the packet pass.
  await page.getByRole('link', { name: 'Accept 10.0.0.6 TCP 22' }).waitFor();
});
