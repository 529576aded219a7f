// Live lists in a real browser: values change where they are, no row comes or moves under the
// reader, and a page that is paused or hidden asks for nothing.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import type { Page } from 'playwright-core';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';
import { openDevice } from '../support/web/sending-device.ts';
import { udp } from '../support/dataplane/packets.ts';

/** Live values that a screen reader would read out. */
const READ_OUT = `document.querySelectorAll(
  ':is([aria-live], [role=status], [role=alert], [role=log]) :is([data-row], [data-changes]),' +
  ' [data-row] :is([aria-live], [role=status], [role=alert])').length`;

/** Waits until an expression holds; the policy of pages lets none of them evaluate it again. */
async function until(page: Page, holds: string): Promise<void> {
  for (let waits = 0; !(await page.evaluate<boolean>(holds)); waits += 1) {
    if (waits > 200) throw new Error(`it does not hold: ${holds}`);
    await page.waitForTimeout(100);
  }
}

test('devices change where they are; others are counted until the reader asks for them', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const add = (name: string): Promise<string> =>
    make(stage, 'device', { user_id, name, public_key: randomBytes(32).toString('base64') });
  await add('silent');
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  const shifts = `new Promise((resolve) => new PerformanceObserver((list) => resolve(
    list.getEntries().reduce((sum, { value }) => sum + value, 0))).observe(
    { type: 'layout-shift', buffered: true }) || setTimeout(() => resolve(0), 500))`;
  await page.goto('/devices');
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  t.is(await page.evaluate<number>(shifts), 0, 'nothing moves after the page is there');
  const { ipv4: source, send } = await openDevice(t, stage, 'laptop', user_id);
  await page.getByText('1 change · Show').waitFor();
  t.is(await page.locator('tbody tr').count(), 1, 'no row comes under the reader');
  t.is(await page.evaluate<number>(READ_OUT), 0);
  await inspect(t, page, 'devices-live');
  await page.getByText('1 change · Show').click();
  const row = page.locator('tbody tr').filter({ hasText: 'laptop' });
  const data = new Uint8Array(1_000);
  const traffic = async (): Promise<void> => {
    for (let i = 0; i < 30; i += 1)
      send(udp({ source, destination: '100.64.0.1', destinationPort: 9, data }));
  };
  await row.getByText('Never seen').waitFor();
  await traffic();
  await row.getByText('Online').waitFor();
  await row.getByText(/second/).waitFor();
  await traffic();
  await row.getByText(/kB, .+\/s/).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Go on' }).waitFor();
  const before = await row.innerText();
  await traffic();
  await page.waitForTimeout(2_500);
  t.is(await row.innerText(), before, 'a page that is paused stays as it is');
  await page.getByRole('button', { name: 'Go on' }).click();
  await until(
    page,
    `![...document.querySelectorAll('tbody tr')].some((row) => row.innerText === ${JSON.stringify(before)})`,
  );
  for (const path of ['/users', '/gateways', '/devices']) {
    await page.goto(path);
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await inspect(t, page, `live-${path.slice(1)}`);
  }
});

/** The longest values that are usual in place of those of a test. */
const LONG_VALUES = `
  for (const [i, text] of ['265.7 kB/s', '123.4 MB', '123.4 MB'].entries())
    for (const row of document.querySelectorAll('tbody tr')) {
      row.querySelectorAll('.number .cell')[i].firstChild.textContent = text;
      const small = row.querySelectorAll('.number .cell')[i].querySelector('small');
      if (small !== null) small.textContent = '123,456 packets';
    }
  for (const one of document.querySelectorAll('.whole')) one.textContent = '198.51.100.102:51820';`;

test('traffic is sorted by rate, unless the reader is in the list', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'katharina.mayerhofer@example.com' });
  await make(stage, 'rule', { action: 'drop', destination: '10.0.0.0/8', user_id });
  const { ipv4: source, send } = await openDevice(t, stage, 'katharina-laptop-of-work', user_id);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  const sendTo = (destinationPort: number, bytes: number, destination = '100.64.0.1'): void => {
    for (let i = 0; i < 10; i += 1)
      send(udp({ source, destination, destinationPort, data: new Uint8Array(bytes) }));
  };
  await page.goto('/flows');
  await page.getByText('No flow is alive').waitFor();
  sendTo(1_001, 100);
  sendTo(1_002, 10);
  const rows = page.locator('tbody tr:visible');
  await rows.filter({ hasText: '100.64.0.1:1002' }).waitFor();
  t.is(await page.getByText('Postern was upgraded').count(), 0);
  await rows.filter({ hasText: '100.64.0.1:1001' }).waitFor();
  await page.mouse.move(0, 0);
  const first = `document.querySelector('tbody tr').textContent.includes(':1002')`;
  const send2 = setInterval(() => sendTo(1_002, 1_200), 200);
  t.teardown(() => clearInterval(send2));
  await until(page, first);
  await page.locator('table').hover();
  clearInterval(send2);
  const send1 = setInterval(() => sendTo(1_001, 1_200), 200);
  t.teardown(() => clearInterval(send1));
  await rows.filter({ hasText: ':1001' }).getByText(/kB\/s/).waitFor();
  await page.waitForTimeout(2_000);
  t.true(await page.evaluate<boolean>(first), 'nothing moves under the pointer');
  await page.mouse.move(0, 0);
  await until(page, `!${first}`);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.evaluate(LONG_VALUES);
  await inspect(t, page, 'flows-live');
  await page.goto('/refusals');
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  t.is(await rows.filter({ hasText: '10.0.0.6' }).count(), 0);
  sendTo(22, 10, '10.0.0.6');
  await rows.filter({ hasText: '10.0.0.6' }).getByText('10', { exact: true }).waitFor();
  await page.mouse.move(0, 0);
  const dropped = rows.filter({ hasText: '10.0.0.6' });
  t.is(await dropped.getByRole('link', { name: 'Explain' }).count(), 1);
  await inspect(t, page, 'refusals-live');
  await dropped.getByRole('link', { name: 'Accept this' }).click();
  await page.getByText('Whose packets of this kind are to pass?').waitFor();
});
