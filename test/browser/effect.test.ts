// Before a form ends flows, the console shows which, in a real browser, on a whole gateway through
// which a device sends. So it is too when a staged rule, whose hits were watched, is enforced.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { Locator, Page } from 'playwright-core';
import { echoRequest, udp } from '../support/dataplane/packets.ts';
import { FIRST_ADMIN } from '../support/gateway/gateway-process.ts';
import { inspect, make, openBrowser, signIn, type Stage } from '../support/web/browser.ts';
import { openDevice } from '../support/web/sending-device.ts';

/** Every page is inspected in four looks, on a machine that others use too. */
const LONG_MS = 300_000;

/** How many flows are open. */
async function countFlows(stage: Stage): Promise<number> {
  return ((await stage.gateway.call('GET', '/v0/flows')).body.data as unknown[]).length;
}

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
  while ((await countFlows(stage)) < 3) await sleep(50);
  const page = await stage.person();
  await signIn(page);
  const flowCount = () => countFlows(stage);
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

test('what was typed before the question is not lost when the session ends at the question', async (t) => {
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const laptop = await openDevice(t, stage, 'laptop', user_id);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  // A flow of ICMP ends after 30 s without a packet, which a busy machine may need for a page.
  const ping = (): void => laptop.send(echoRequest(laptop.ipv4, '100.64.0.1'));
  const pinging = setInterval(ping, 1_000);
  t.teardown(() => clearInterval(pinging));
  const askAndEnd = async (button: string, label: string): Promise<void> => {
    while ((await countFlows(stage)) === 0) await sleep(50);
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('heading', { name: 'This ends 1 flow' }).waitFor();
    await stage.gateway.database.models.Session.destroy({ where: {} });
    await page.getByRole('button', { name: label }).click();
    await page.getByText('You were signed out').waitFor();
    await page.getByLabel('E-mail').fill(FIRST_ADMIN.email);
    await page.getByLabel('Password').fill(FIRST_ADMIN.password);
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  };

  await page.goto('/settings/default_action');
  await page.getByLabel('A packet that no rule matches is').selectOption('drop');
  await askAndEnd('Save', 'Save the settings');
  await page.getByText('What you typed is here again').waitFor();
  t.is(await page.getByLabel('A packet that no rule matches is').inputValue(), 'drop');

  await page.goto('/rules/new');
  await page.getByLabel('Destination').fill('100.64.0.1');
  await page.getByLabel('Action').selectOption('drop');
  await askAndEnd('Add the rule', 'Save the rule');
  await page.getByText('What you typed is here again').waitFor();
  t.is(new URL(page.url()).pathname, '/rules/new');
  t.is(await page.getByLabel('Destination').inputValue(), '100.64.0.1');
});

test('a staged rule is watched, enforced after the question, and staged again', async (t) => {
  t.timeout(LONG_MS);
  const stage = await openBrowser(t);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const laptop = await openDevice(t, stage, 'laptop', user_id);
  const phone = await openDevice(t, stage, 'phone', user_id);
  const packet = udp({
    source: laptop.ipv4,
    destination: phone.ipv4,
    destinationPort: 5_353,
  });
  // What has no session yet would get no packet.
  phone.send(echoRequest(phone.ipv4, '100.64.0.1'));
  const flowCount = async (): Promise<number> => {
    const { body } = await stage.gateway.call('GET', `/v0/flows?destination=${phone.ipv4}`);
    return (body.data as unknown[]).length;
  };
  const page = await stage.person();
  await signIn(page);

  await page.goto('/rules/new');
  await page.getByLabel('Destination').fill(phone.ipv4);
  await page.getByLabel('Action').selectOption('drop');
  await page.getByText('Schedule, staged, description').click();
  await page.getByLabel('Staged').check();
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('It is staged: it decides nothing, and counts').waitFor();
  laptop.send(packet, packet);
  const row = page.getByRole('row', { name: 'Drop, staged' });
  const hits = row.getByRole('cell', { name: /^2 .*B$/ });
  await expectSoon(page, hits);
  await inspect(t, page, 'console-rules-staged');
  t.is(await flowCount(), 1, 'it decides nothing');

  await page.goto(`/devices/${laptop.id}/packets`);
  await page.getByLabel('To', { exact: true }).fill(phone.ipv4);
  await page.getByLabel('Protocol').selectOption('udp');
  await page.getByLabel('Port').fill('5353');
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByRole('heading', { name: 'It passes' }).waitFor();
  await page.getByText('A staged rule would drop it.').waitFor();
  await inspect(t, page, 'console-explain-staged');
  await page.getByRole('link', { name: `Drop ${phone.ipv4}` }).click();

  t.true(await page.getByLabel('Staged').isChecked());
  await page.getByText('It would have decided 2 packets').waitFor();
  await page.getByLabel('Staged').uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'This ends 1 flow of 1 person' }).waitFor();
  t.is(await flowCount(), 1, 'nothing is changed yet');
  await page.getByRole('button', { name: 'Save the rule' }).click();
  await page.getByText('The changes are in force.').waitFor();
  t.is(await flowCount(), 0);
  await page.getByRole('row', { name: phone.ipv4 }).getByRole('link').first().click();
  t.false(await page.getByLabel('Staged').isChecked());
  await page.getByText('Schedule, staged, description').click();
  await page.getByLabel('Staged').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('It is staged: it decides nothing, and counts').waitFor();
  laptop.send(packet);
  await sleep(200);
  t.is(await flowCount(), 1);
});

/** Opens the page again until a part is there, as a person does: the gateway counts once a second. */
async function expectSoon(page: Page, part: Locator): Promise<void> {
  for (let i = 0; i < 20; i += 1) {
    if (await part.isVisible()) return;
    await sleep(500);
    await page.reload();
  }
  await part.waitFor();
}
