// The portal, end to end: a user creates a device in a real browser, wg-quick takes the file as it
// was downloaded, and traffic passes until the VPN session ends, and again after its renewal.

import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { chromium, type Page } from 'playwright-core';
import type { Host } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  LAN6,
  ROUTES,
  Traffic,
  TUNNEL4,
} from '../support/network/topology.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

const PASSWORD = 'correct horse battery';
const EMAIL = 'alice@example.test';
const SESSION_SECONDS = 5;
/**
 * How exactly a session ends: the promise is one second, the beacon and the clocks add a little.
 */
const SLACK_MS = 1_200;
/**
 * The gateway initiates a handshake with a device that it knows; the session lasts five at most.
 */
const RESUME_MS = 4_000;

test.serial('a file from the browser carries traffic while the VPN session lasts', async (t) => {
  t.timeout(240_000);
  const topology = await buildTopology('pp');
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox'],
  });
  t.teardown(async () => {
    await browser.close();
    await topology.network.remove();
  });
  const { alice, gateway, lan } = topology;
  const postern = new Postern(gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  await postern.create('user', {
    email: EMAIL,
    password: PASSWORD,
    password_confirmation: PASSWORD,
  });
  await configure(postern, {
    default_client_endpoint: GATEWAY4,
    default_client_allowed_ips: ROUTES,
    default_client_dns: [],
  });

  const page = await (await browser.newContext({ baseURL: postern.api })).newPage();
  await page.goto('/');
  await signIn(page);
  const file = await addDevice(page);
  const quick = (verb: string) =>
    alice.run('env', 'WG_QUICK_USERSPACE_IMPLEMENTATION=wireguard-go', 'wg-quick', verb, file);
  await quick('up');
  t.teardown(() => quick('down').catch(() => undefined));
  for (const to of [TUNNEL4, LAN4, LAN6]) t.true(await canPing(alice, to), to);

  await page.getByRole('link', { name: '← laptop' }).click();
  await page.locator('.badge', { hasText: 'Online' }).waitFor();
  await page.getByText('192.0.2.2:').waitFor();

  const transfer = await startTransfer(alice, lan);
  const watch = await new Traffic(lan, 'watch', 7100, LAN4).ready();
  const beacon = new Traffic(alice, 'beacon', 7100, 10, LAN4);
  await watch.line(() => true);
  await configure(postern, { vpn_session_duration: SESSION_SECONDS });
  await page.goto('/sign_in_again?return_to=/user_devices');
  await signIn(page);
  const user = await postern.read('user', EMAIL);
  const endMs = Date.parse(String(user['last_signed_in_at'])) + SESSION_SECONDS * 1_000;
  await sleep(endMs + SLACK_MS + 2_000 - Date.now());
  const last = Math.max(...arrivals(watch));
  t.true(
    Math.abs(last - endMs) < SLACK_MS,
    `the last datagram came ${last - endMs} ms after the end`,
  );
  t.true(arrivals(watch).filter((at) => at > endMs - 4_000).length > 200, 'until then they came');
  t.false(await canPing(alice, TUNNEL4));

  await page.reload();
  await page.getByText('Your VPN session has ended').waitFor();
  await page.getByRole('link', { name: 'Sign in again' }).click();
  const renewedMs = Date.now();
  await signIn(page);
  await page.waitForURL('/user_devices');
  await until('datagrams come again', () => Math.max(...arrivals(watch)) > renewedMs, RESUME_MS);
  // The session may have ended again; the transfer takes longer than any session.
  await configure(postern, { vpn_session_duration: 0 });
  t.deepEqual(await transfer.received(), await transfer.sent(), 'the transfer went on to its end');
  await beacon.stop();
  await watch.stop();
});

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'My devices' }).waitFor();
}

/** Adds a device in the browser; returns the path of the downloaded file. */
async function addDevice(page: Page): Promise<string> {
  await page.goto('/user_devices/new');
  await page.getByLabel('Name', { exact: true }).fill('laptop');
  await page.getByRole('button', { name: 'Add the device' }).click();
  await page.getByText('Save this now.').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  const path = join(temporaryFolder('postern-portal-'), download.suggestedFilename());
  await download.saveAs(path);
  chmodSync(path, 0o600);
  if (!readFileSync(path, 'utf8').includes('PrivateKey')) throw new Error('this is no file');
  return path;
}

/** A slow TCP transfer, which lasts longer than the session does. */
async function startTransfer(from: Host, to: Host) {
  const receiver = await new Traffic(to, 'receive', 6_300).ready();
  const sender = new Traffic(from, 'trickle', LAN4, 6_300, 100, 300);
  const hasEnded = (line: Record<string, unknown>): boolean => 'sha256' in line;
  return { received: () => receiver.line(hasEnded), sent: () => sender.line(hasEnded) };
}

function arrivals(watch: Traffic): number[] {
  return watch.lines.filter((line) => 'at' in line).map((line) => Number(line['at']));
}

async function configure(postern: Postern, configuration: object): Promise<void> {
  const { status, body } = await postern.call('PATCH', '/v0/configuration', { configuration });
  if (status !== 200) throw new Error(JSON.stringify(body));
}
