// The console of administrators in a real browser: what they do there, how every page looks, and
// that the keyboard is enough.

import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import test from 'ava';
import type { Page } from 'playwright-core';
import {
  inspect,
  make,
  openBrowser,
  openMenu,
  type ServedStage,
  signIn,
} from '../support/web/browser.ts';
import { openProvider, samlMetadata } from '../support/auth/identity-provider.ts';

const NASTY = '"><img src=x onerror=alert(1)>';

/** Lets another gateway report traffic of a device, until it is stopped. */
async function carryTraffic({ gateway }: ServedStage, device: string): Promise<() => void> {
  const { sequelize } = gateway.database;
  const seen = "strftime('%Y-%m-%d %H:%M:%f +00:00', 'now')";
  await sequelize.query(
    `INSERT INTO device_statuses (device_id, gateway_id, latest_handshake, remote_ip, remote_port, rx_bytes, tx_bytes, updated)
     VALUES (?, 'another', ${seen}, '203.0.113.20', 34336, 0, 0, ${seen})`,
    { replacements: [device] },
  );
  const add =
    'UPDATE device_statuses SET rx_bytes = rx_bytes + 90000, tx_bytes = tx_bytes + 700000';
  const timer = setInterval(() => void sequelize.query(add), 300);
  return () => clearInterval(timer);
}

/** Opens the question behind a button, and answers it. */
async function confirm(page: Page, button: string, answer: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: answer, exact: true }).click();
}

const key = (): string => randomBytes(32).toString('base64');

test('the dashboard shows what the gateway does, and updates itself', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  await inspect(t, page, 'console-dashboard-empty');
  const todo = page.locator('.steps .state').getByText('to do');
  t.is(await todo.count(), 4);
  await page.getByLabel('Endpoint').fill('vpn.example.com');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Files of devices lead there from now on.').waitFor();
  t.is(await todo.count(), 3);
  const user_id = await make(stage, 'user', { email: 'ann@example.com' });
  const device = await make(stage, 'device', { user_id, name: 'laptop', public_key: key() });
  await page.locator('[data-value=devices]').getByText('1', { exact: true }).waitFor();
  await page.locator('[data-step=device].done').waitFor();
  await page.getByText('No traffic in the last five minutes.').waitFor();
  // A scanner sends packets: the page shows them by itself, in the words that it has after a
  // reload.
  const scanner = createSocket('udp4');
  scanner.send(Buffer.alloc(7), Number(stage.gateway.environment['WIREGUARD_PORT']), '127.0.0.1');
  await page.getByText('It was no WireGuard message').waitFor();
  scanner.close();
  const drops = page.locator('[data-rows=others] tbody');
  const shown = await drops.innerText();
  await page.reload();
  t.is(await drops.innerText(), shown);
  const stop = await carryTraffic(stage, device);
  await page.locator('[data-value=online]').getByText('1', { exact: true }).waitFor();
  stop();
  await page.reload();
  t.is(await page.locator('.steps').count(), 0, 'all steps are done');
  await inspect(t, page, 'console-dashboard');
});

test('users are added, changed, disabled and deleted', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.getByRole('link', { name: 'Users', exact: true }).click();
  await inspect(t, page, 'console-users');
  await page.getByRole('link', { name: 'Invite people' }).click();
  await page.getByLabel('E-mails').fill('ann@example.com');
  await page.getByRole('button', { name: 'Make the links' }).click();
  await page.getByRole('link', { name: 'I have copied it' }).click();
  await page.getByRole('heading', { name: 'Invitations' }).waitFor();
  await inspect(t, page, 'console-invitations');
  await page.getByRole('button', { name: 'More for ann@example.com' }).click();
  await page.getByRole('button', { name: 'Revoke…' }).first().click();
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('1 invitation is revoked.').waitFor();
  await page.getByRole('link', { name: 'Invite people' }).first().click();
  await page.getByRole('link', { name: 'Add a user without an invitation' }).click();
  await page.getByLabel('E-mail').fill(`${NASTY}@example.com`);
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByRole('button', { name: 'Add the user' }).click();
  await page.getByText('Please use at least 12 characters').waitFor();
  await inspect(t, page, 'console-user-refused');
  await page.getByLabel('Password', { exact: true }).fill('');
  await page.getByRole('button', { name: 'Add the user' }).click();
  await page.getByRole('status').waitFor();
  const user_id = page.url().split('/').at(-1) ?? '';
  await make(stage, 'device', { user_id, name: NASTY, public_key: key() });
  await page.reload();
  await inspect(t, page, 'console-user');
  await openMenu(page);
  await inspect(t, page, 'console-user-menu');
  await confirm(page, 'Disable', 'Disable');
  await page.getByRole('button', { name: 'Enable' }).waitFor();
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByText('is enabled: they may sign in').waitFor();
  for (const tab of ['Traffic', 'Sign-in', 'Settings']) {
    await page
      .getByRole('navigation', { name: 'Pages of' })
      .getByRole('link', { name: tab })
      .click();
    await page.waitForURL(`**/users/${user_id}/*`);
    await inspect(t, page, `console-user-${tab.toLowerCase()}`);
  }
  await openMenu(page);
  await page.getByRole('button', { name: 'Delete' }).click();
  await inspect(t, page, 'console-user-question');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await openMenu(page);
  await confirm(page, 'Delete', 'Delete for good');
  await page.waitForURL('/users');
  await page.getByRole('searchbox', { name: 'Search e-mail, name or role' }).fill('nobody');
  await page.keyboard.press('Enter');
  await page.getByText('No user is found').waitFor();
  await inspect(t, page, 'console-users-none');
});

test('rules are added; a rule that overlaps another one is refused with a link to it', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.goto('/rules');
  await inspect(t, page, 'console-rules-empty');
  await make(stage, 'rule', { action: 'accept', destination: '10.0.0.0/8' });
  await make(stage, 'rule', { action: 'drop', destination: '10.1.0.0/16' });
  await page.getByRole('link', { name: 'Add a rule' }).first().click();
  await page.getByLabel('Destination').fill('10.1.2.3');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByRole('heading', { name: 'Overlaps with' }).waitFor();
  await page.getByRole('heading', { name: 'Other rules for the same packets' }).waitFor();
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('Another rule already means some of these packets').waitFor();
  await inspect(t, page, 'console-rule-refused');
  await page.getByLabel('Protocol').selectOption('tcp');
  await page.getByLabel('Ports').fill('443');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('The rule is in force.').waitFor();
  await inspect(t, page, 'console-rules');
  await page.getByRole('link', { name: '10.1.2.3' }).click();
  await inspect(t, page, 'console-rule');
  await confirm(page, 'Delete this rule', 'Delete for good');
  await page.getByText('The rule is deleted.').waitFor();
});

test('a long e-mail breaks no address, figure or time beside it', async (t) => {
  const stage = await openBrowser(t);
  const email = `${'very.long-name'.repeat(4)}@${'a-long-domain.'.repeat(3)}example.com`;
  for (const owner of [email, 'ann@example.com']) {
    const user_id = await make(stage, 'user', { email: owner });
    const device = { user_id, name: 'kiosk-7', public_key: key() };
    const stop = await carryTraffic(stage, await make(stage, 'device', device));
    stop();
  }
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.goto('/devices');
  const broken = `[...document.querySelectorAll('tbody :is(.line, time, .badge, .number small, .short > a)')]
    .filter((one) => one.getClientRects()[0].height > 30)
    .map((one) => one.textContent)`;
  for (const width of [1_920, 1_440, 1_024]) {
    await page.setViewportSize({ width, height: 900 });
    t.deepEqual(await page.evaluate<string[]>(broken), [], `${width} px`);
    const [table = 0, place = 0] = await page.evaluate<number[]>(
      "['.list', 'form:has(> .list)'].map((one) => document.querySelector(one).scrollWidth)",
    );
    t.true(table <= place && place <= width, `${width} px: the table is ${table} px wide`);
  }
  await inspect(t, page, 'console-devices-long');
});

test('devices are added, disabled, and given an end', async (t) => {
  const stage = await openBrowser(t);
  await make(stage, 'user', { email: 'ann@example.com' });
  const page = await stage.person();
  await signIn(page);
  await page.goto('/devices');
  await inspect(t, page, 'console-devices-empty');
  await page.getByRole('link', { name: 'Add a device' }).first().click();
  await page.getByLabel('Owner').fill('ann@example.com');
  // The script of the page closes it first.
  await page.locator('[data-own-key]:not([open])').waitFor();
  await page.getByText('Use a key pair of my own').click();
  await page.getByLabel('Public key').fill('no key');
  await page.getByText('Network settings').click();
  await inspect(t, page, 'console-device-form');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('This should have 44 characters').waitFor();
  await page.getByLabel('Public key').fill(key());
  await page.getByLabel('Name').fill('lent laptop');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('lent laptop is added').waitFor();
  await page.getByRole('link', { name: '← lent laptop' }).click();
  await page.getByRole('link', { name: 'Settings', exact: true }).last().click();
  await page.getByLabel('End (UTC)').fill('2020-01-01T00:00');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await page.getByText('It ended at').waitFor();
  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('Switched off since').waitFor();
  await page.getByText('No traffic in the last five minutes.').waitFor();
  await inspect(t, page, 'console-device');
  for (const tab of ['Connections', 'Packets', 'Network']) {
    await page.getByRole('link', { name: tab, exact: true }).last().click();
    await page.waitForURL(`**/${tab.toLowerCase()}`);
    await inspect(t, page, `console-device-${tab.toLowerCase()}`);
  }
  await page.context().grantPermissions(['clipboard-write']);
  const address = (await page.locator('#address-0').innerText()).trim();
  await page.getByRole('button', { name: `Copy ${address}` }).click();
  await page.getByText(`Copied: ${address}`).waitFor();
  await openMenu(page);
  await inspect(t, page, 'console-device-menu');
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Settings', exact: true }).last().click();
  await page.getByLabel('Description').fill(NASTY);
  await page.getByText('Network settings', { exact: true }).click();
  await inspect(t, page, 'console-device-edit');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(NASTY).waitFor();
  await page.goto('/devices');
  await inspect(t, page, 'console-devices');
  await page.getByLabel('State').selectOption('off');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByText('1 in all').waitFor();
  await page.getByRole('link', { name: 'Last handshake' }).click();
  await page.locator('th[aria-sort=ascending]').waitFor();
  t.regex(page.url(), /state=off&sort=handshake$/);
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Switch on' }).click();
  await page.getByText('1 device is switched on.').waitFor();
  await page.goto('/devices');
  await page.getByRole('checkbox', { name: 'Select lent laptop' }).check();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('heading', { name: 'Delete this device?' }).waitFor();
  await inspect(t, page, 'console-devices-delete');
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('1 device is deleted').waitFor();
});

test('a token has its scopes, is shown once, and revoked', async (t) => {
  const { gateway, person } = await openBrowser(t);
  const page = await person();
  await signIn(page);
  await page.goto('/api_tokens/new');
  await inspect(t, page, 'console-token-new');
  await page.getByLabel('Name').fill(NASTY);
  await page.getByRole('checkbox', { name: 'Everything' }).uncheck();
  await page.getByRole('button', { name: 'Make the token' }).click();
  await page.getByText('choose at least one').waitFor();
  await inspect(t, page, 'console-token-refused');
  await page.getByLabel('Read').check();
  await page.getByLabel('Metrics').check();
  await page.getByRole('button', { name: 'Make the token' }).click();
  const token = await page.getByLabel('Token').inputValue();
  t.regex(token, /^pst_[\w-]{43}$/);
  const ask = (method: string) =>
    fetch(`${gateway.url}/v0/users`, { method, headers: { authorization: `Bearer ${token}` } });
  t.is((await ask('GET')).status, 200);
  t.is((await ask('POST')).status, 403, 'it only reads');
  await inspect(t, page, 'console-token-made');
  await page.getByRole('link', { name: 'I have copied it' }).click();
  await page.getByRole('row', { name: NASTY }).getByText('read, metrics').waitFor();
  await inspect(t, page, 'console-tokens');
  await page.setViewportSize({ width: 1_024, height: 768 });
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
  t.is(wide, 1_024, 'nothing scrolls sideways');
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.getByRole('row', { name: NASTY }).getByRole('button', { name: 'More for' }).click();
  await page.locator('#menu').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke for good' }).click();
  await page.getByText('1 token is revoked.').waitFor();
});

test('the configuration, providers and the logo are changed', async (t) => {
  const provider = await openProvider(t);
  const { person } = await openBrowser(t, { DEFAULT_CLIENT_MTU: '1300' });
  const page = await person();
  await signIn(page);
  await page.goto('/settings/client_defaults');
  t.true(await page.getByLabel('MTU').isDisabled());
  await page.getByLabel('DNS servers').fill('dns..example');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('is neither an address nor the name of a host').waitFor();
  await inspect(t, page, 'console-client-defaults-refused');
  await page.goto('/settings/security');
  await page.getByLabel('They end after').fill('8');
  await page.getByLabel('Unit').selectOption('hours');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The settings are in force.').waitFor();
  t.is(await page.getByLabel('They end after').inputValue(), '8');
  await inspect(t, page, 'console-security');
  await page.goto('/settings/providers/oidc/new');
  await inspect(t, page, 'console-provider-new');
  await page.getByLabel('Label').fill(NASTY);
  await page.locator('summary').getByText('Advanced').click();
  await page.getByLabel('Id', { exact: true }).fill('okta');
  await page.getByLabel('Discovery document').fill(`${provider.origin}/openid`);
  await page.getByLabel('Client id').fill('postern');
  await page.getByLabel('Client secret').fill('a secret of theirs');
  await page.getByRole('button', { name: 'Test this provider' }).click();
  await page.getByRole('heading', { name: 'What the test found' }).waitFor();
  await inspect(t, page, 'console-provider-tested');
  await page.getByLabel('Client secret').fill('a secret of theirs');
  await page.locator('summary').getByText('Advanced').click();
  await page.getByLabel('Trust the e-mail addresses').check();
  await page.getByRole('button', { name: 'Add the provider' }).click();
  await page.getByText('is saved, and serves.').waitFor();
  await inspect(t, page, 'console-providers');
  await page.getByRole('link', { name: NASTY }).click();
  t.false((await page.content()).includes('a secret of theirs'));
  await inspect(t, page, 'console-provider');
  await page.goto('/settings/providers/saml/new');
  await page.getByLabel('Label').fill('ADFS');
  await page.locator('summary').getByText('Advanced').click();
  await page.getByLabel('Id', { exact: true }).fill('adfs');
  await page.getByLabel('Metadata', { exact: true }).fill(samlMetadata());
  await page.getByRole('button', { name: 'Test this provider' }).click();
  await page.getByRole('heading', { name: 'What the test found' }).waitFor();
  await inspect(t, page, 'console-saml-tested');
  await page.goto('/settings/customization');
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const file = { name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') };
  await page.getByLabel('File').setInputFiles(file);
  await page.getByRole('button', { name: 'Use this image' }).click();
  await page.getByText('The logo is changed.').waitFor();
  await inspect(t, page, 'console-logo');
  await page.goto('/audit');
  const lines = "[...document.querySelectorAll('.entry > summary')]";
  const tallest = `Math.max(...${lines}.map((one) => one.offsetHeight))`;
  const height = await page.evaluate<number>(tallest);
  t.true(height < 44, `an entry is one line: ${height}`);
  await page.locator('.entry summary').first().click();
  await inspect(t, page, 'console-audit');
  await page.getByRole('button', { name: 'Who' }).click();
  await page.getByLabel('Who (e-mail)').fill('nobody');
  await inspect(t, page, 'console-audit-asks');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByText('Nothing like that happened').waitFor();
  await inspect(t, page, 'console-audit-none');
});

test('the keyboard is enough to add a rule, and no script is needed', async (t) => {
  const { person } = await openBrowser(t);
  const page = await person({ javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/rules/new');
  await page.getByLabel('Action').focus();
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('Tab');
  await page.keyboard.type('192.0.2.0/24');
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('The rule is in force.').waitFor();
  await page.getByRole('link', { name: '192.0.2.0/24' }).press('Enter');
  await page.getByText('Delete this rule', { exact: true }).press('Enter');
  await page.getByRole('button', { name: 'Delete for good' }).press('Enter');
  await page.getByText('The rule is deleted.').waitFor();
  t.true(await page.getByText('No rules yet').isVisible());
});
