// The capture of a device in a real browser: a form on its page, and a file that is downloaded.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';
import { readPcapng } from '../support/network/pcapng.ts';

test('packets of a device are captured into a file', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const public_key = randomBytes(32).toString('base64');
  await make(stage, 'device', { user_id, name: 'laptop', public_key });
  const page = await stage.person();
  await signIn(page);
  await page.goto('/devices');
  await page.getByRole('link', { name: 'laptop' }).click();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Capture packets' }).click();
  await inspect(t, page, 'console-capture');
  await page.getByLabel('Seconds').fill('9999');
  await page.getByRole('button', { name: 'Capture' }).click();
  await page.getByText('Please correct what is marked below').waitFor();
  await inspect(t, page, 'console-capture-mistake');
  await page.getByLabel('Seconds').fill('1');
  await page.getByLabel('Other end').fill('10.0.0.0/8');
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Capture' }).click();
  const download = await downloading;
  t.is(download.suggestedFilename(), 'laptop.pcapng');
  const file = readPcapng(readFileSync(await download.path()));
  t.deepEqual(
    file.interfaces.map(({ name }) => name),
    ['from device', 'to device', 'refused'],
  );
  t.is(file.counts.at(-1)?.comment, 'It ended: its time was over.');
  t.true([...file.names.values()].includes('laptop'));
});
