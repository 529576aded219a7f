// Before a form ends flows, the console shows which, in a real browser, on a whole gateway through
// which a device sends.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { echoRequest, udp } from '../support/dataplane/packets.ts';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';
import { openDevice } from '../support/web/sending-device.ts';

test('what would end is shown, can be changed, and ends when the person agrees', async (t) => {
  const stage = await openBrowser(t);
  const person = { email: 'ann@example.com', password: 'correct horse battery' };
  const user_id = await make(stage, 'user', {
    ...person,
    password_confirmation: person.password,
  });
  const laptop = await openDevice(t, stage, 'laptop', user_id);
  const phone = await openDevice(t, stage, 'a phone with quite a long name', user_id);
  const { ipv4: source } = laptop;
  for (const destinationPort of [5_353, 5_354])
    laptop.send(udp({ source, destination: phone.ipv4, destinationPort }));
  // A flow of ICMP ends after 30 s without a packet, which a busy machine may need for a page.
  const ping = (): void => laptop.send(echoRequest(source, '100.64.0.1'));
  ping();
  await sleep(1_000);
  const page = await stage.person();
  await signIn(page);
  const flowCount = async (): Promise<number> =>
    ((await stage.gateway.call('GET', '/v0/flows')).body.data as unknown[]).length;
  const before = await flowCount();
  t.is(before, 3);

  await page.goto(`${stage.gateway.url}/rules/new`);
  await page.getByLabel('Destination').fill(phone.ipv4);
  await page.getByLabel('Action').selectOption('drop');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByRole('heading', { name: 'This ends 2 flows of 1 person' }).waitFor();
  await page.getByRole('link', { name: 'a phone with quite a long name' }).first().waitFor();
  await inspect(t, page, 'effect');
  await page.getByRole('button', { name: 'Change it' }).click();
  t.is(await page.getByLabel('Destination').inputValue(), phone.ipv4);
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByRole('button', { name: 'Save the rule' }).click();
  await page.getByText('The rule is in force.').waitFor();
  ping();
  await sleep(200);
  t.is(await flowCount(), 1);

  await page.goto(`${stage.gateway.url}/devices`);
  for (const name of ['laptop', 'a phone with quite a long name'])
    await page.getByRole('checkbox', { name: new RegExp(name) }).check();
  ping();
  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('It ends 1 flow of 1 person.').waitFor();
  await inspect(t, page, 'effect-many');
  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('2 devices are switched off').waitFor();
  t.is(await flowCount(), 0);
});
