// Why a device cannot connect, in a real browser, on a whole gateway: a device with another
// preshared key, a key that nobody has, and what its owner reads.

import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { derivePublicKey } from '../../dataplane/noise/keys.ts';
import { initiator } from '../support/dataplane/forged-messages.ts';
import { inspect, make, openBrowser, signIn } from '../support/web/browser.ts';

test('a device that does not confirm its handshakes, and unknown senders', async (t) => {
  const stage = await openBrowser(t);
  const { gateway } = stage;
  const socket = createSocket('udp4');
  t.teardown(() => socket.close());
  const port = Number(gateway.environment['WIREGUARD_PORT']);
  const { data: users } = (await gateway.call('GET', '/v0/users')).body;
  const key = randomBytes(32);
  const public_key = Buffer.from(derivePublicKey(key)).toString('base64');
  const id = await make(stage, 'device', { user_id: users[0].id, name: 'laptop', public_key });
  const { server_public_key } = (await gateway.call('GET', `/v0/devices/${id}`)).body.data;
  const server = new Uint8Array(Buffer.from(server_public_key, 'base64'));
  const page = await stage.person();
  await signIn(page);
  await page.goto(`/devices/${id}`);
  await page.getByText('Nothing has arrived from it.').waitFor();
  const next = initiator(key, server);
  for (let i = 0; i < 3; i++) {
    socket.send(next(), port, '127.0.0.1');
    await sleep(100);
  }
  const stranger = randomBytes(32);
  socket.send(initiator(stranger, server)(), port, '127.0.0.1');
  await sleep(200);
  await page.getByRole('link', { name: 'Look again' }).click();
  const text = page.getByText('Its handshakes are answered, but it never uses an answer: 3 times');
  await text.waitFor();
  await inspect(t, page, 'console-device-diagnosis');
  await page.goto('/dashboard');
  const strange = Buffer.from(derivePublicKey(stranger)).toString('base64');
  await page.getByRole('region', { name: 'Unknown senders' }).getByText(strange).waitFor();
  await inspect(t, page, 'console-unknown-senders');
  await page.goto(`/user_devices/${id}`);
  await page.getByText('it never uses the answer of the gateway').waitFor();
  await inspect(t, page, 'portal-device-diagnosis');
  t.pass();
});

test('the page of a file turns green with the first handshake', async (t) => {
  const stage = await openBrowser(t);
  const { data: users } = (await stage.gateway.call('GET', '/v0/users')).body;
  const public_key = Buffer.from(derivePublicKey(randomBytes(32))).toString('base64');
  const id = await make(stage, 'device', { user_id: users[0].id, name: 'laptop', public_key });
  const page = await stage.person();
  await signIn(page);
  await page.waitForURL('/dashboard');
  await page.goto(`/devices/${id}/file`);
  await page.getByText('Waiting for the first handshake.').waitFor();
  await inspect(t, page, 'console-device-file-waiting');
  await stage.gateway.database.sequelize.query(
    `INSERT INTO device_statuses (device_id, gateway_id, latest_handshake, rx_bytes, tx_bytes, updated)
     VALUES (?, 'another', strftime('%Y-%m-%d %H:%M:%f +00:00', 'now'), 0, 0,
       strftime('%Y-%m-%d %H:%M:%f +00:00', 'now'))`,
    { replacements: [id] },
  );
  await page.getByText('Connected: the device has made a handshake.').waitFor();
  await page.locator('.handshake.done').waitFor();
  await inspect(t, page, 'console-device-file-connected');
});
