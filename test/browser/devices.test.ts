// The own devices in a real browser: the key pair is made there, and its private half never leaves.

import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { derivePublicKey } from '../../dataplane/index.ts';
import { newId, recordStatus } from '../../models/index.ts';
import { inspect, openBrowser, signIn, type Stage } from '../support/web/browser.ts';
import { readCode } from '../support/web/qr.ts';
import { newKey } from '../support/api/server.ts';
import { FIRST_ADMIN } from '../support/gateway/gateway-process.ts';

/** A device as the API returns it. */
interface ApiDevice {
  id: string;
  name: string;
  public_key: string;
  server_public_key: string;
  ipv4: string;
}

async function devicesOf({ gateway }: Stage): Promise<ApiDevice[]> {
  return ((await gateway.call('GET', '/v0/devices')).body as { data: ApiDevice[] }).data;
}

async function configure({ gateway }: Stage, configuration: object): Promise<void> {
  const { status, text } = await gateway.call('PATCH', '/v0/configuration', { configuration });
  if (status !== 200) throw new Error(text);
}

function privateKeyOf(file: string): string {
  return /^PrivateKey = (.*)$/m.exec(file)?.[1] ?? '';
}

function publicKeyOf(privateKey: string): string {
  return Buffer.from(derivePublicKey(Buffer.from(privateKey, 'base64'))).toString('base64');
}

/** Keeps everything that the browser of a page sends: addresses, headers and bodies. */
function record(page: Page): () => Promise<string> {
  const sent: Promise<string>[] = [];
  page.context().on('request', (request) => {
    const body = request.postData() ?? '';
    sent.push(
      request.allHeaders().then(
        (headers) => [request.url(), JSON.stringify(headers), body].join('\n'),
        () => [request.url(), body].join('\n'),
      ),
    );
  });
  return async () => (await Promise.all(sent)).join('\n');
}

/** Fails if a private key is anywhere else than on the page. */
async function isNowhere(
  t: ExecutionContext,
  { gateway }: Stage,
  page: Page,
  sent: string,
  key: string,
): Promise<void> {
  t.is(Buffer.from(key, 'base64').length, 32, key);
  t.true(sent.includes('public_key='), 'the record holds forms');
  const spellings = [key, encodeURIComponent(key), Buffer.from(key, 'base64').toString('hex')];
  const state = JSON.stringify(await page.context().storageState({ indexedDB: true }));
  const session = await page.evaluate<string>('JSON.stringify({ ...sessionStorage })');
  const history = await page.evaluate<string>(
    'JSON.stringify([history.state, location.href, name])',
  );
  for (const spelling of spellings)
    for (const place of [sent, state, session, history, gateway.output()])
      t.false(place.includes(spelling));
}

test('a device is added: its file is downloaded, copied and scanned, and its key is sent nowhere', async (t) => {
  const stage = await openBrowser(t, { DEFAULT_CLIENT_ENDPOINT: 'vpn.example.com:51820' });
  const page = await stage.person({ permissions: ['clipboard-read', 'clipboard-write'] });
  const sent = record(page);
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.goto('/user_devices');
  await inspect(t, page, 'devices-empty');
  await page.getByRole('link', { name: 'Add a device' }).first().click();
  await page.waitForURL('/user_devices/new');
  await inspect(t, page, 'device-new');
  t.false(await page.getByLabel('Public key').isVisible(), 'nobody is asked for a key');
  await page.getByText('Network settings').click();
  await inspect(t, page, 'device-new-settings');
  const mtu = page.getByLabel('MTU');
  t.is(await mtu.getAttribute('placeholder'), '1280 · the client default');
  await mtu.fill('9000');
  await page.getByLabel('Name', { exact: true }).fill("Ann's laptop");
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Please give 1500 or less').waitFor();
  await inspect(t, page, 'device-new-refused');
  t.is((await devicesOf(stage)).length, 0);
  await mtu.fill('1400');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  t.regex(page.url(), /\/user_devices\/[0-9a-f-]{36}\/file$/);
  await inspect(t, page, 'device-file');
  for (const viewport of [
    { width: 1440, height: 900 },
    { width: 1024, height: 768 },
  ]) {
    await page.setViewportSize(viewport);
    const code = await page.getByRole('img', { name: /^QR code of/ }).boundingBox();
    const end = (code?.y ?? Infinity) + (code?.height ?? 0);
    t.true(end <= viewport.height, `the code ends at ${end} of ${viewport.height} px`);
  }
  const warning = page.locator('.note.warning').filter({ hasText: 'Save this now.' });
  t.true(await warning.isVisible(), 'a key that is lost with the page is no success');

  const [device] = await devicesOf(stage);
  const file = await page.locator('#client-file').innerText();
  const privateKey = privateKeyOf(file);
  t.is(publicKeyOf(privateKey), String(device?.public_key));
  t.regex(file, /^MTU = 1400$/m);
  t.true(file.includes(`PublicKey = ${device?.server_public_key}\n`));
  t.true(file.includes(`Address = ${device?.ipv4}/32, `));

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  t.is(download.suggestedFilename(), 'Ann-s-laptop.conf');
  t.is(readFileSync(String(await download.path()), 'utf8'), file);
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  t.is(await page.evaluate('navigator.clipboard.readText()'), file);
  const code = page.getByRole('img', { name: 'QR code of Ann-s-laptop.conf' });
  t.is(await readCode(stage.browser, code), file);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 360, height: 740 });
  t.is(await readCode(stage.browser, code), file, 'on a small dark screen too');
  await page.setViewportSize({ width: 1280, height: 800 });
  await isNowhere(t, stage, page, await sent(), privateKey);

  await page.goBack();
  await page.getByRole('heading', { name: 'Add a device' }).waitFor();
  await page.goForward();
  await page.getByLabel('Private key of this device').waitFor();
  t.false((await page.content()).includes(privateKey), 'left, it is gone');
});

test('a file is shown again with a pasted private key, or with a new pair on a click', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  const sent = record(page);
  await signIn(page);
  await page.goto('/user_devices/new');
  await page.getByLabel('Name', { exact: true }).fill('phone');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  const first = await page.locator('#client-file').innerText();
  await configure(stage, { default_client_dns: ['9.9.9.9'] });

  await page.goto('/user_devices');
  await inspect(t, page, 'devices-outdated');
  await page.getByRole('link', { name: 'File is out of date' }).click();
  await inspect(t, page, 'device-file-outdated');
  const field = page.getByLabel('Private key of this device');
  await field.fill(Buffer.alloc(32, 1).toString('base64'));
  await page.getByText('This is the key of another device.').waitFor();
  await field.fill('nonsense');
  await page.getByText('This is not a private key.').waitFor();
  t.false(await page.locator('[data-qr]').isVisible());
  await inspect(t, page, 'device-file-wrong-key');
  await field.fill(`PrivateKey = ${privateKeyOf(first)}`);
  await page.getByRole('heading', { name: 'The private key is right' }).waitFor();
  const again = await page.locator('#client-file').innerText();
  t.is(again, first.replace(/^DNS = .*$/m, 'DNS = 9.9.9.9'));
  t.is(await readCode(stage.browser, page.getByRole('img', { name: /^QR code/ })), again);

  // Pasted before the script of the page has run, it is read when the script runs.
  const { promise, resolve: arrive } = Promise.withResolvers<void>();
  await page.route('**/device-keys.js', async (route) => {
    await promise;
    await route.continue();
  });
  await page.goto(page.url(), { waitUntil: 'commit' });
  await field.fill(privateKeyOf(first));
  arrive();
  await page.getByRole('heading', { name: 'The private key is right' }).waitFor();
  t.is(await page.locator('#client-file').innerText(), again);
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Yes, the device has this file now' }).click();
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  t.is(await page.getByText('out of date').count(), 0);

  await page.getByRole('link', { name: 'File and QR code' }).click();
  t.is(await page.getByRole('link', { name: 'Download' }).count(), 0, 'there is nothing to import');
  await page.getByRole('button', { name: 'Make a new key pair' }).click();
  await page.getByText('Nothing has changed yet.').waitFor();
  await inspect(t, page, 'device-file-staged');
  const staged = await page.locator('#client-file').innerText();
  t.is(await readCode(stage.browser, page.getByRole('img', { name: /^QR code/ })), staged);
  t.is(publicKeyOf(privateKeyOf(first)), String((await devicesOf(stage))[0]?.public_key));
  await page.getByRole('button', { name: 'Put the new key in force' }).click();
  await page.getByText('Save this now.').waitFor();
  await inspect(t, page, 'device-file-new-key');
  t.is(await page.locator('#client-file').innerText(), staged);
  const second = await page.locator('#client-file').innerText();
  const [device] = await devicesOf(stage);
  t.not(privateKeyOf(second), privateKeyOf(first));
  t.is(publicKeyOf(privateKeyOf(second)), String(device?.public_key));
  t.is(await readCode(stage.browser, page.getByRole('img', { name: /^QR code/ })), second);
  const all = await sent();
  for (const file of [first, second]) await isNowhere(t, stage, page, all, privateKeyOf(file));
});

test('an answer that is lost loses no key: the page finds out what is in force', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.goto('/user_devices/new');
  await page.getByLabel('Name', { exact: true }).fill('laptop');
  // The gateway obeys, and the connection through this device ends.
  const cut = async () => {
    await page.route('**/*', async (route) => {
      if (route.request().method() === 'POST') await route.fetch({ maxRedirects: 0 });
      await route.abort('connectionreset');
    });
  };
  await cut();
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('it is not known whether the device was added').waitFor();
  await inspect(t, page, 'device-new-unanswered');
  await page.unroute('**/*');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  const [device, ...others] = await devicesOf(stage);
  t.is(others.length, 0);
  const made = await page.locator('#client-file').innerText();
  t.is(publicKeyOf(privateKeyOf(made)), String(device?.public_key));

  await page.reload();
  await page.getByRole('button', { name: 'Make a new key pair' }).click();
  const file = await page.locator('#client-file').innerText();
  await cut();
  await page.getByRole('button', { name: 'Put the new key in force' }).click();
  await page.getByText('it is not known whether the new key is in force').waitFor();
  await inspect(t, page, 'device-file-unanswered');
  t.is(await page.locator('#client-file').innerText(), file, 'the page keeps it');
  t.is(publicKeyOf(privateKeyOf(file)), String((await devicesOf(stage))[0]?.public_key));
  await page.unroute('**/*');
  await page.getByText('Save this now.').waitFor();
  await page.getByText('The new key is in force.').waitFor();
  t.is(await page.locator('#client-file').innerText(), file);
});

test('a form that is sent before its script has run loses nothing, and says what to do', async (t) => {
  const stage = await openBrowser(t);
  const user = { email: 'ann@example.com' };
  await stage.gateway.call('POST', '/v0/users', { user });
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  const button = page.getByRole('button', { name: 'Add the device' });
  const forgotten = page.getByText('keys are not shown again: please type them once more');
  for (const path of ['/user_devices/new', `/devices/new?user=${user.email}`]) {
    const name = `phone of ${path.split('/')[1]}`;
    const { promise, resolve: arrive } = Promise.withResolvers<void>();
    await page.route('**/device-keys.js', async (route) => {
      await promise;
      await route.continue();
    });
    await page.goto(path, { waitUntil: 'commit' });
    await page.getByLabel('Name', { exact: true }).fill(name);
    const isAll = path.startsWith('/devices');
    const preshared = page.getByLabel('Preshared key');
    if (isAll) {
      await page.getByText('Keys and addresses').dispatchEvent('click');
      await preshared.fill(newKey());
    }
    // Chromium paints a page after its scripts; other browsers let people click before.
    await button.dispatchEvent('click');
    await page.getByText('Nothing has changed yet: the form was sent before').waitFor();
    t.is(await page.getByLabel('Name', { exact: true }).inputValue(), name);
    arrive();
    await page.locator('[data-own-key]:not([open])').waitFor();
    t.is(await page.getByText('Nothing was saved').count(), 0, 'nothing is marked any more');
    t.is(await forgotten.isVisible(), isAll);
    t.is(await preshared.isVisible(), isAll, 'where it is typed once more');
    t.is(await page.locator('[aria-invalid=true]').count(), 0);
    await inspect(t, page, `device-sent-early-${path.split('/')[1]}`);
    await button.click();
    await page.getByText('Save this now.').waitFor();
    t.regex(await page.locator('#client-file').innerText(), /^PrivateKey = .{44}$/m);
    await page.unrouteAll();
    // The file was not saved.
    page.once('dialog', (dialog) => void dialog.accept());
  }
  const names = (await devicesOf(stage)).map((device) => device.name);
  t.deepEqual(names.toSorted(), ['phone of devices', 'phone of user_devices']);
});

test('a person who signs in again in another window puts the new key in force in this one', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.goto('/user_devices/new');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  const other = await page.context().newPage();
  const change = async (isToldOf: 'a sign-out' | 'nothing') => {
    await page.reload();
    await page.getByRole('button', { name: 'Make a new key pair' }).click();
    const file = await page.locator('#client-file').innerText();
    const button = page.getByRole('button', { name: 'Put the new key in force' });
    await stage.gateway.database.models.Session.destroy({ where: {} });
    if (isToldOf === 'a sign-out') {
      await button.click();
      await page.getByText('You are signed out. Sign in again in another window').waitFor();
      await button.click();
      await page.getByText('You are signed out. Sign in again in another window').waitFor();
    }
    await signIn(other);
    await other.waitForURL('/dashboard');
    await button.click();
    if (isToldOf === 'nothing') {
      await page.getByText('The gateway still has the former key.').waitFor();
      await button.click();
    }
    await page.getByText('Save this now.').waitFor();
    t.is(publicKeyOf(privateKeyOf(file)), String((await devicesOf(stage))[0]?.public_key));
  };
  await change('a sign-out');
  await change('nothing');
});

test('an administrator gives a device to another user, by file and code', async (t) => {
  const stage = await openBrowser(t);
  await stage.gateway.call('POST', '/v0/users', { user: { email: 'ann@example.com' } });
  const page = await stage.person();
  const sent = record(page);
  await signIn(page);
  await page.goto('/devices/new');
  await inspect(t, page, 'console-device-new');
  await page.getByLabel('Name', { exact: true }).fill('phone');
  await page.getByLabel('Owner').fill('Ann');
  await page.getByRole('option', { name: 'ann@example.com' }).waitFor();
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('No user has the e-mail “Ann”').waitFor();
  // The script put this page in the place of the one before; its fields offer people too.
  await page.getByLabel('Owner').fill('Ann');
  await page.getByRole('option', { name: 'ann@example.com' }).click();
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  await page.getByText('Give the file to ann@example.com').waitFor();
  await inspect(t, page, 'console-device-file');
  const [device] = await devicesOf(stage);
  const file = await page.locator('#client-file').innerText();
  t.is(publicKeyOf(privateKeyOf(file)), String(device?.public_key));
  t.is(await readCode(stage.browser, page.getByRole('img', { name: /^QR code/ })), file);
  await page.goto(`/devices/${device?.id}`);
  await page.getByRole('link', { name: 'File and QR code' }).click();
  await page.getByText('The private key is missing').waitFor();
  t.is(await page.getByRole('link', { name: 'Download' }).count(), 0);
  t.false((await page.content()).includes(privateKeyOf(file)), 'shown once');
  await page.getByRole('button', { name: 'Make a new key pair' }).click();
  await page.getByRole('button', { name: 'Put the new key in force' }).click();
  await page.getByText('Save this now.').waitFor();
  const second = await page.locator('#client-file').innerText();
  t.is(publicKeyOf(privateKeyOf(second)), String((await devicesOf(stage))[0]?.public_key));
  const all = await sent();
  for (const text of [file, second]) await isNowhere(t, stage, page, all, privateKeyOf(text));
});

test('a file that is too long for a QR code has none, and its page does all the rest', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  const networks = Array.from({ length: 250 }, (_, i) => `10.200.${i}.0/24`);
  await configure(stage, { default_client_allowed_ips: networks });
  await signIn(page);
  await page.goto('/user_devices/new');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  await page.getByText('too long for a QR code').waitFor();
  t.false(await page.getByText('The private key is missing').isVisible());
  t.false(await page.getByText('Scan from QR code').first().isVisible());
  await inspect(t, page, 'device-file-long');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  const file = await page.locator('#client-file').innerText();
  t.is(readFileSync(String(await download.path()), 'utf8'), file);
  const first = (await devicesOf(stage))[0]?.public_key;
  t.is(publicKeyOf(privateKeyOf(file)), String(first));

  await page.reload();
  await page.getByLabel('Private key of this device').fill(privateKeyOf(file));
  await page.getByRole('heading', { name: 'The private key is right' }).waitFor();
  await page.getByRole('button', { name: 'Make a new key pair' }).click();
  await page.getByText('Nothing has changed yet.').waitFor();
  t.is((await devicesOf(stage))[0]?.public_key, first, 'one click only shows the new file');
  await page.getByRole('button', { name: 'Put the new key in force' }).click();
  await page.getByText('Save this now.').waitFor();
  t.not((await devicesOf(stage))[0]?.public_key, first);
});

test('whoever leaves the page of a new file before saving it is asked first', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person({ permissions: ['clipboard-read', 'clipboard-write'] });
  await signIn(page);
  let asked = 0;
  page.on('dialog', (dialog) => {
    asked += 1;
    void dialog.dismiss();
  });
  const add = async () => {
    await page.goto('/user_devices/new');
    await page.getByRole('button', { name: 'Add the device' }).click();
    await page.getByText('Save this now.').waitFor();
  };
  const leave = async () => {
    await page.getByRole('button', { name: FIRST_ADMIN.email }).click();
    await page.getByRole('link', { name: 'My devices' }).click({ noWaitAfter: true });
  };
  await add();
  const file = await page.locator('#client-file').innerText();
  await leave();
  await page.waitForTimeout(500);
  t.is(asked, 1);
  t.is(await page.locator('#client-file').innerText(), file, 'who stays has it still');
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  await leave();
  await page.waitForURL('/user_devices');
  t.is(asked, 1, 'it was copied');

  await add();
  await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  await page.reload();
  t.is(asked, 1, 'it was downloaded');
  await page.getByRole('button', { name: 'Make a new key pair' }).click();
  await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  await page.getByRole('button', { name: 'Put the new key in force' }).click();
  await page.getByText('Save this now.').waitFor();
  await leave();
  await page.waitForURL('/user_devices');
  t.is(asked, 1, 'it was downloaded before its key was put in force');
});

test('on a phone the file comes first, and its words are for a phone', async (t) => {
  const stage = await openBrowser(t);
  const size = { width: 390, height: 780 };
  const page = await stage.person({ viewport: size, isMobile: true, hasTouch: true });
  await configure(stage, { default_client_endpoint: 'vpn.example.com' });
  await signIn(page);
  await page.goto('/user_devices/new');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  const words = page.getByText('Import from file or archive');
  await words.waitFor();
  t.false(await page.getByText('wg-quick up').first().isVisible());
  const top = async (name: string): Promise<number> =>
    (await page.getByRole('heading', { name }).boundingBox())?.y ?? -1;
  t.true((await top('The file')) < (await top('The QR code')));
  const download = await page.getByRole('link', { name: 'Download' }).boundingBox();
  t.true((download?.y ?? 9_999) < size.height, 'seen without scrolling');
  await page.screenshot({ path: 'test/artefacts/screens/device-file-phone.png', fullPage: true });
});

test('a device shows what it does, and can be changed and removed', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await configure(stage, { vpn_session_duration: 86_400 });
  await signIn(page);
  await page.goto('/user_devices/new');
  await page.getByLabel('Name', { exact: true }).fill('laptop');
  await page.getByLabel('Description').fill('The one with the sticker');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  const [device] = await devicesOf(stage);
  await page.goto(`/user_devices/${device?.id}`);
  await page.getByText('Never seen').waitFor();
  await page.getByText('No traffic in the last five minutes.').waitFor();

  const { database } = stage.gateway;
  const deviceId = String(device?.id);
  const report = { deviceId, latestHandshake: new Date(), rxBytes: 1_080_000, txBytes: 1 };
  await recordStatus(database, newId(), [{ ...report, remoteIp: '192.0.2.7', remotePort: 4_711 }]);
  await page.locator('.badge', { hasText: 'Online' }).waitFor();
  await page.getByText('192.0.2.7:4711').waitFor();
  await page.locator('[data-value=uploaded]', { hasText: /^1\.1\sMB$/ }).waitFor();
  await inspect(t, page, 'device');
  await page.goto('/user_devices');
  await inspect(t, page, 'devices');

  await stage.gateway.command('device', 'disable', '--id', deviceId);
  await page.reload();
  await page.getByRole('link', { name: 'Switched off' }).click();
  await page.getByText('Ask an administrator').waitFor();
  await inspect(t, page, 'device-switched-off');
  await stage.gateway.command('device', 'enable', '--id', deviceId);
  await page.goto('/user_devices');

  await page.getByRole('link', { name: 'Renew it' }).click();
  await inspect(t, page, 'sign-in-again');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('/user_devices');

  await page.getByRole('link', { name: 'laptop' }).click();
  await page.getByRole('link', { name: 'Change', exact: true }).click();
  await page.getByLabel('Name', { exact: true }).fill('new name');
  await inspect(t, page, 'device-edit');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'new name' }).waitFor();
  await page.getByRole('button', { name: 'Remove this device' }).click();
  await inspect(t, page, 'device-remove');
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByText('No device yet').waitFor();
  t.is((await devicesOf(stage)).length, 0);

  await configure(stage, { vpn_session_duration: 1 });
  await page.waitForTimeout(1_100);
  await page.reload();
  await page.getByText('Your VPN session has ended').waitFor();
  await inspect(t, page, 'devices-session-ended');
});

test('who is signed out meanwhile is sent to sign in, and nothing is created', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person();
  await signIn(page);
  await page.goto('/user_devices/new');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  t.is(await page.locator('nav').count(), 0, 'it is the whole page');
  t.is((await devicesOf(stage)).length, 0);
});

test('without scripts a user pastes a public key, and reads how', async (t) => {
  const stage = await openBrowser(t);
  const page = await stage.person({ javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/user_devices/new');
  await page.getByText('wg genkey | tee private.key | wg pubkey').waitFor();
  const publicKey = newKey();
  await page.getByLabel('Public key').fill(publicKey);
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByRole('heading', { name: 'The private key is missing' }).waitFor();
  t.is((await devicesOf(stage))[0]?.public_key, publicKey);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  t.regex(
    readFileSync(await download.path(), 'utf8'),
    /^PrivateKey = PASTE-THE-PRIVATE-KEY-HERE$/m,
  );
  const other = newKey();
  await page.getByLabel('Public key').fill(other);
  await page.getByRole('button', { name: 'Make a new key pair' }).click();
  await page.getByText('The new key of').waitFor();
  t.is((await devicesOf(stage))[0]?.public_key, other);
});
