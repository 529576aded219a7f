// The pages “Traffic now”, “Ended lately” and “Refused lately”, and what the portal shows of it, in a real browser,
// on a whole gateway through which a device sends.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { echoRequest, tcp, udp } from '../support/dataplane/packets.ts';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';
import { openDevice } from '../support/web/sending-device.ts';

test('charts show what was carried before the page was opened', async (t) => {
  const stage = await openBrowser(t);
  const person = { email: 'ann@example.com', password: 'correct horse battery' };
  const confirmed = { ...person, password_confirmation: person.password };
  const user_id = await make(stage, 'user', confirmed);
  const { id, ipv4: source, send } = await openDevice(t, stage, 'laptop', user_id);
  const data = new Uint8Array(1_000);
  for (let i = 0; i < 60; i += 1) {
    send(udp({ source, destination: '100.64.0.1', destinationPort: 9, data }));
    await sleep(50);
  }
  // What comes later is not of this traffic.
  await sleep(2_000);
  const [admin, owner] = [await stage.person(), await stage.person()];
  await signIn(admin);
  await signIn(owner, person);
  await owner.waitForURL('/user_devices');
  for (const [page, path] of [
    [admin, '/dashboard'],
    [admin, `/devices/${id}`],
    [owner, `/user_devices/${id}`],
  ] as const) {
    await page.goto(path);
    const chart = page.getByRole('img', { name: 'Traffic in the last five minutes' });
    await chart.waitFor();
    await inspect(t, page, `chart-${path.split('/')[1]}`);
    // Its points are those of the gateway's memory, drawn at once; the legend says the latest.
    t.regex(await chart.locator('.u-legend').innerText(), /Down[^–]+Up[^–]+$/);
    t.true(await page.getByText('No traffic in the last five minutes.').isHidden());
  }
  await admin.goto('/dashboard?range=1h');
  t.is(await admin.locator('[data-history]').getAttribute('data-step'), '60');
  await inspect(t, admin, 'chart-hour');
});

test('what passes and what does not, for administrators and for the owner', async (t) => {
  const stage = await openBrowser(t);
  const person = { email: 'ann@example.com', password: 'correct horse battery' };
  const confirmed = { ...person, password_confirmation: person.password };
  const user_id = await make(stage, 'user', confirmed);
  const laptop = await openDevice(t, stage, 'laptop', user_id);
  const phone = await openDevice(t, stage, 'a phone with quite a long name', user_id);
  await make(stage, 'rule', { action: 'drop', destination: '10.0.0.0/8', user_id });
  const page = await stage.person();
  await signIn(page);
  // First, because on a busy machine a flow can come to its end while pages are inspected.
  await page.getByRole('link', { name: 'Traffic', exact: true }).click();
  await page.getByRole('link', { name: 'Ended lately' }).click();
  await page.getByText('No flow has ended yet').waitFor();
  await inspect(t, page, 'console-ended-flows-none');
  const { ipv4: source } = laptop;
  laptop.send(
    echoRequest(source, '100.64.0.1'),
    udp({ source, destination: phone.ipv4, destinationPort: 5_353 }),
    tcp({ source, destination: '10.0.0.6', destinationPort: 22, flags: 2 }),
    udp({ source, destination: '127.0.0.1', destinationPort: 9 }),
  );
  await sleep(1_000);
  await page.getByRole('link', { name: 'Traffic now' }).click();
  await page.getByRole('cell', { name: '100.64.0.1 ICMP' }).waitFor();
  await inspect(t, page, 'console-flows');
  await page.getByLabel('To', { exact: true }).fill('somewhere');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByText('Please write an address or a network').waitFor();
  await inspect(t, page, 'console-flows-mistake');
  await page.goto('/flows');
  await page.getByRole('link', { name: 'Ended lately' }).click();
  await make(stage, 'rule', { action: 'drop', destination: '100.64.0.0/10', user_id });
  await page.waitForTimeout(6_000);
  await page.reload();
  await page.getByText('not let pass any more').first().waitFor();
  await inspect(t, page, 'console-ended-flows');
  await page.goto(`/devices/${laptop.id}/packets`);
  await page.getByRole('main').getByRole('link', { name: 'Refused lately' }).last().click();
  await page.getByText('A rule drops it.').waitFor();
  await inspect(t, page, 'console-refusals');
  const dropped = page.getByRole('row').filter({ hasText: 'TCP 22' });
  await dropped.getByRole('link', { name: 'Explain' }).click();
  await page.getByRole('heading', { name: 'It does not pass' }).waitFor();
  await page.goto('/refusals?device=a+phone+with+quite+a+long+name&reason=rule_drop');
  await page.getByText('Nothing like that was refused').waitFor();
  await inspect(t, page, 'console-refusals-none');
  const owner = await stage.person();
  await signIn(owner, person);
  await owner.getByRole('link', { name: 'What was blocked' }).click();
  await owner.getByText('A rule of your administrator blocks it.').waitFor();
  await inspect(t, owner, 'portal-refusals');
  t.pass();
});
