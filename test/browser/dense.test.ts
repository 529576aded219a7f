// The list of devices in a real browser: how many rows a window has, the menu of a row with scripts
// and without them, and the bar for what is selected. What a phone shows of lists at first.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { udp } from '../support/dataplane/packets.ts';
import { inspect, make, openBrowser, signIn, type Stage } from '../support/web/browser.ts';
import { openDevice } from '../support/web/sending-device.ts';

const DEVICES = 20;
const LONG = 'a.quite.long.name.of.somebody@subsidiary.of.a.large.company.example.com';

async function fill(stage: Stage): Promise<void> {
  const user_id = await make(stage, 'user', { email: LONG });
  for (let i = 0; i < DEVICES; i += 1) {
    const name = i === 3 ? 'a name that somebody wrote a whole sentence into' : `kiosk-${i}`;
    const public_key = randomBytes(32).toString('base64');
    await make(stage, 'device', { user_id, name, public_key });
  }
}

/** How many rows end above a height. */
const rowsAbove = (height: number): string => `[...document.querySelectorAll('tbody tr')]
  .filter((row) => row.getBoundingClientRect().bottom <= ${height}).length`;
/** Parts of rows that are smaller than a finger. */
const SMALL = `[...document.querySelectorAll('tbody :is(label, button.more)')]
  .filter((one) => {
    const { width, height } = one.getBoundingClientRect();
    return width < 44 || height < 44;
  }).length`;

test('a window has many devices, each with a menu; what is selected has a bar', async (t) => {
  const stage = await openBrowser(t, { MAX_DEVICES_PER_USER: '100' });
  await fill(stage);
  const page = await stage.person({ viewport: { width: 1_440, height: 900 } });
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.goto('/devices');
  t.true((await page.evaluate<number>(rowsAbove(900))) >= 16, 'of 900 px');
  await page.setViewportSize({ width: 1_000, height: 900 });
  const owner = page.locator('small.below').first();
  await owner.hover();
  t.is(await owner.getAttribute('title'), LONG, 'it is cut');
  await page.setViewportSize({ width: 390, height: 844 });
  const fold = page.locator('.fold > summary');
  t.true(((await fold.boundingBox())?.height ?? 0) >= 44);
  t.true(await page.getByLabel('State').isHidden());
  await fold.click();
  await page.getByLabel('State').waitFor();
  await page.getByRole('button', { name: 'Search', exact: true }).waitFor();
  t.is(await page.evaluate<number>(SMALL), 0);
  await page.setViewportSize({ width: 1_440, height: 900 });
  await page.getByRole('button', { name: 'More for' }).first().click();
  await page.getByRole('link', { name: 'Capture packets' }).waitFor();
  await inspect(t, page, 'devices-menu');
  // The menu of one row becomes that of another one at a click.
  await page.getByRole('button', { name: 'More for kiosk-5' }).click();
  const href = await page.getByRole('link', { name: 'kiosk-5' }).getAttribute('href');
  await page.locator(`.menu:popover-open a[href="${href}/capture"]`).waitFor();
  t.is(await page.locator('.menu [data-only]:visible').count(), 1);
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Capture packets' }).waitFor({ state: 'hidden' });
  await page.getByRole('checkbox', { name: 'kiosk-7' }).check();
  await page.getByRole('checkbox', { name: 'kiosk-8' }).check();
  await page.getByText('2 selected').waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('Set an end…').click();
  await page.getByLabel('They end at (UTC)').press('Enter');
  await page.waitForTimeout(300);
  t.is(await page.getByText('switched on').count(), 0, 'Enter presses no button');
  await page.getByText('2 selected').waitFor();
  const bar = await page.locator('[data-selected]').boundingBox();
  t.true((bar?.y ?? 9_999) + (bar?.height ?? 0) <= 900, 'it is in the window');
  await inspect(t, page, 'devices-selected');
  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('2 devices are switched off').waitFor();
  await inspect(t, page, 'devices-undo');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 2 records are as before.').waitFor();
});

/** How many rows end above the bar at the bottom of a phone. */
const SEEN = `(() => {
  const end = document.querySelector('.quick').getBoundingClientRect().top;
  return [...document.querySelectorAll('tbody tr')]
    .filter((row) => row.getBoundingClientRect().bottom <= end).length;
})()`;

test('a phone shows ten devices and users, and two refused packets, before anybody scrolls', async (t) => {
  const stage = await openBrowser(t, { MAX_DEVICES_PER_USER: '100' });
  await fill(stage);
  for (let i = 0; i < 10; i += 1) await make(stage, 'user', { email: `person${i}@example.com` });
  const user_id = await make(stage, 'user', { email: 'katharina.mayerhofer@example.com' });
  await make(stage, 'rule', { action: 'drop', destination: '10.0.0.0/8', user_id });
  const { ipv4: source, send } = await openDevice(t, stage, 'katharina-laptop-of-work', user_id);
  for (const end of [1, 2, 3])
    send(
      udp({ source, destination: `10.0.0.${end}`, destinationPort: 22, data: new Uint8Array(9) }),
    );
  const page = await stage.person({ viewport: { width: 390, height: 800 } });
  await signIn(page);
  await page.waitForURL('/dashboard');
  for (const [path, rows] of [
    ['/refusals', 2],
    ['/users', 10],
    ['/devices', 10],
  ] as const) {
    await page.goto(path);
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.locator('tbody tr').nth(rows).waitFor();
    t.true((await page.evaluate<number>(SEEN)) >= rows, path);
  }
});

test('without scripts the page shows the menu of a row, which switches a device off and on', async (t) => {
  const stage = await openBrowser(t, { MAX_DEVICES_PER_USER: '100' });
  await fill(stage);
  const page = await stage.person({ javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/devices?q=kiosk-7');
  await page.getByRole('checkbox', { name: 'kiosk-7' }).check();
  await page.keyboard.press('Enter');
  await page.getByText('Nothing was chosen').waitFor();
  const more = page.getByRole('button', { name: 'More for' });
  await more.click();
  const menu = page.locator('tbody .menu');
  t.is(await menu.getByRole('link').count(), 3);
  await menu.getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('1 device is switched off').waitFor();
  await more.click();
  await menu.getByRole('button', { name: 'Switch on' }).click();
  await page.getByText('1 device is switched on').waitFor();
  await more.click();
  await menu.getByRole('button', { name: 'Delete…' }).click();
  await page.getByText('Delete this device?').waitFor();
  await page.getByText(`${LONG} / kiosk-7`).waitFor();
  t.is(new URL(page.url()).pathname, '/devices/many', 'nothing is deleted before it is asked');
});
