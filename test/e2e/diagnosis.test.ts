// Why a device cannot connect, end to end: a real WireGuard client that is set up wrongly in each
// way, and what the gateway then says of it, over the API and on the command line.

import { createSocket } from 'node:dgram';
import test, { type ExecutionContext } from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { initiator } from '../support/dataplane/forged-messages.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  ROUTES,
} from '../support/network/topology.ts';
import { makeKeyPair, WireguardClient } from '../support/network/wireguard-client.ts';
import { expireDevice, runHere } from './people.ts';

const EMAIL = 'alice@example.test';
const PORT = 51_820;
/** A client tries again every five seconds; one that hears nothing begins anew after fifteen. */
const PATIENCE_MS = 60_000;
const HOUR_MS = 3_600_000;

interface Found {
  readonly code: string;
  readonly text: string;
  readonly attempts: readonly Record<string, unknown>[];
  readonly inside: Record<string, unknown> | null;
  readonly unknown_senders: readonly Record<string, unknown>[];
}

async function ask(postern: Postern, id: string): Promise<Found> {
  const { status, body } = await postern.call('GET', `/v0/devices/${id}/diagnosis`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return (body as { data: Found }).data;
}

/** Waits until the finding is this one; gives it. */
async function becomes(
  t: ExecutionContext,
  { postern, id }: { readonly postern: Postern; readonly id: string },
  code: string,
  meanwhile = async (): Promise<void> => {},
): Promise<Found> {
  const untilMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await ask(postern, id);
    if (found.code === code) {
      t.log(`${code}: ${found.text}`);
      return found;
    }
    if (performance.now() > untilMs) {
      t.is(found.code, code, JSON.stringify(found));
      throw new Error(`not ${code}`);
    }
    await meanwhile();
    await sleep(250);
  }
}

test.serial('each way of setting up a device wrongly has its name', async (t) => {
  t.timeout(280_000);
  const topology = await buildTopology('dg');
  t.teardown(() => topology.network.remove());
  const { gateway, alice } = topology;
  const postern = new Postern(gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  const user = await postern.create('user', { email: EMAIL });
  const keys = makeKeyPair();
  const device = await postern.create('device', { user_id: user.id, public_key: keys.publicKey });
  const scene = { postern, id: device.id };
  const serverPublicKey = String(device['server_public_key']);
  const right = {
    keys,
    serverPublicKey,
    presharedKey: String(device['preshared_key']),
    endpoint: `${GATEWAY4}:${PORT}`,
  };
  await becomes(t, scene, 'nothing_arrived');

  // The file has another address than the device here.
  const ipv4 = String(device['ipv4']);
  const addresses = ['100.64.99.99', String(device['ipv6'])];
  const client = new WireguardClient(alice, { ...right, addresses, routes: ROUTES, keepalive: 5 });
  await client.start();
  t.teardown(() => client.stop());
  await becomes(t, scene, 'nothing_inside');
  t.false(await canPing(alice, LAN4));
  const wrong = await becomes(t, scene, 'wrong_inner_address');
  t.is(wrong.inside!['wrong_source'], '100.64.99.99');

  // The routes go with the last address.
  await client.addAddress(ipv4);
  await client.removeAddress('100.64.99.99');
  t.true(await canPing(alice, LAN4));
  const well = await becomes(t, scene, 'connected');
  t.like(well.attempts[0], { outcome: 'confirmed', remote_ip: '192.0.2.2' });

  const twin = new WireguardClient(topology.bob, {
    ...right,
    endpoint: `${GATEWAY4_BOB}:${PORT}`,
    addresses: [ipv4, String(device['ipv6'])],
    routes: ROUTES,
    keepalive: 5,
  });
  await twin.start();
  const twice = await becomes(t, scene, 'key_used_twice', async () => {
    await Promise.all([alice, topology.bob].map((host) => canPing(host, LAN4)));
  });
  t.true(twice.text.includes('192.0.2.2:') && twice.text.includes('192.0.3.2:'), twice.text);
  await twin.stop();
  // The rows know again that it is where Alice is.
  await client.reconfigure(right);
  for (let i = 0; (await postern.read('device', device.id))['remote_ip'] !== '192.0.2.2'; i++) {
    if (i === 60) return t.fail('its address is never written');
    await canPing(alice, LAN4);
    await sleep(500);
  }

  await client.reconfigure({ presharedKey: Buffer.alloc(32, 9).toString('base64') });
  const unconfirmed = await becomes(t, scene, 'not_confirmed');
  t.like(unconfirmed.attempts[0], { outcome: 'unconfirmed', remote_ip: '192.0.2.2' });

  await unknownSenders(t, scene, client, right);
  await clockBehind(t, scene, client, right);
  await barred(t, scene);
});

interface Right {
  readonly keys: ReturnType<typeof makeKeyPair>;
  readonly serverPublicKey: string;
  readonly presharedKey: string;
}

/** Another private key, and the key of another gateway; the gateway has just been started. */
async function unknownSenders(
  t: ExecutionContext,
  scene: { readonly postern: Postern; readonly id: string },
  client: WireguardClient,
  right: Right,
): Promise<void> {
  const { postern } = scene;
  const other = makeKeyPair();
  await postern.stop();
  await client.reconfigure({ ...right, keys: other });
  await postern.start();
  const { text } = await becomes(t, scene, 'key_not_registered');
  t.true(text.includes(`The key is ${other.publicKey}.`), text);
  t.true(text.includes('192.0.2.2'), text);
  const { body } = await postern.call('GET', '/v0/unknown_senders');
  t.like((body as { data: { keys: object[] } }).data.keys[0], {
    public_key: other.publicKey,
    remote_ip: '192.0.2.2',
  });
  await client.reconfigure({ ...right, serverPublicKey: makeKeyPair().publicKey });
  const found = await becomes(t, scene, 'other_gateway_key');
  t.like(found.unknown_senders[0], { public_key: null, remote_ip: '192.0.2.2' });
  const printed = await runHere(postern, ['diagnose', scene.id]);
  t.regex(printed, /^other_gateway_key: [^]*\(for another gateway\)/);
}

/** The device's clock was an hour ahead, and was then set right. */
async function clockBehind(
  t: ExecutionContext,
  scene: { readonly postern: Postern; readonly id: string },
  client: WireguardClient,
  right: Right,
): Promise<void> {
  const [privateKey, serverKey] = [right.keys.privateKey, right.serverPublicKey].map(
    (text) => new Uint8Array(Buffer.from(text, 'base64')),
  );
  const socket = createSocket('udp4');
  t.teardown(() => socket.close());
  socket.send(initiator(privateKey!, serverKey!, HOUR_MS)(), PORT, API_ADDRESS);
  await sleep(500);
  await client.reconfigure(right);
  const { attempts } = await becomes(t, scene, 'dated_before');
  const refused = attempts.find(({ outcome }) => outcome === 'refused')!;
  t.like(refused, { reason: 'initiation_replayed', remote_ip: '192.0.2.2' });
  const behindMs =
    Date.parse(String(refused['latest_dated_at'])) - Date.parse(String(refused['dated_at']));
  t.true(Math.abs(behindMs - HOUR_MS) < 60_000, `${behindMs}`);
}

/** What rows forbid. */
async function barred(
  t: ExecutionContext,
  scene: { readonly postern: Postern; readonly id: string },
): Promise<void> {
  const { postern, id } = scene;
  await postern.update('user', EMAIL, { enabled: false });
  await becomes(t, scene, 'owner_disabled');
  await expireDevice(postern, id, new Date(Date.now() - 1_000));
  await becomes(t, scene, 'device_ended');
  await postern.update('device', id, { enabled: false });
  await becomes(t, scene, 'device_off');
  await postern.update('device', id, { enabled: true });
  await expireDevice(postern, id, new Date(Date.now() + HOUR_MS));
  await postern.update('user', EMAIL, { enabled: true });
  await postern.stop();
  Object.assign(postern.environment, {
    VPN_SESSION_DURATION: '3600',
    VPN_SESSION_REQUIRE_SIGN_IN: 'true',
  });
  await postern.start();
  await becomes(t, scene, 'session_ended');
}
