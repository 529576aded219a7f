// A gateway without a TUN: what devices send leaves by sockets of the gateway. Real clients, a real
// LAN, which has no route to the tunnel networks. docs/guides/where-it-runs.md

import { createCipheriv, createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { Host } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  canReach,
  GATEWAY4,
  LAN4,
  LAN4_OTHER,
  LAN6,
  letPing,
  type Topology,
  Traffic,
  traffic,
  transfer,
  TUNNEL4,
} from '../support/network/topology.ts';
import { enrol, type Person } from './people.ts';

const BYTES = 20_000_000;
const DOWNLOAD_PORT = 7_300;
/** A rule ends a connection within so long. */
const END_MS = 5_000;
/** Nobody in the LAN has it. */
const NOBODY = '198.51.100.77';
const HOST_LAN4 = '198.51.100.1';
const HOST_LAN6 = '2001:db8:2::1';

/** Sends the same bytes to whoever connects. */
const SERVER = `
  const { createCipheriv } = require('node:crypto');
  const bytes = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(${BYTES}));
  require('node:net').createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(bytes);
  }).listen(${DOWNLOAD_PORT}, '::', () => console.log('{"ready":true}'));
`;

interface Scene {
  readonly topology: Topology;
  readonly postern: Postern;
  readonly alice: Person;
}

async function begin(t: ExecutionContext, prefix: string, settings: object): Promise<Scene> {
  const topology = await buildTopology(prefix);
  t.teardown(() => topology.network.remove());
  const { gateway } = topology;
  // Who may have ping sockets is a setting of each network namespace.
  await letPing(gateway);
  const postern = new Postern(gateway, API_ADDRESS, { WIREGUARD_TUN: 'sockets', ...settings });
  await postern.start();
  t.teardown(() => postern.stop());
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  await until('alice is connected', () => canPing(alice.client.host, TUNNEL4), 15_000);
  return { topology, postern, alice };
}

async function download(host: Host, address: string): Promise<string> {
  const command = `exec 3<>/dev/tcp/${address}/${DOWNLOAD_PORT}; sha256sum <&3`;
  const { stdout } = await host.run('bash', '-c', command);
  return stdout.split(' ')[0]!;
}

/** What connecting to a port says, and after how many ms. */
async function failureOf(host: Host, address: string, port: number): Promise<[string, number]> {
  const at = performance.now();
  const command = `(exec 3<>/dev/tcp/${address}/${port}) 2>&1 || true`;
  const { stdout } = await host.run('timeout', '20', 'bash', '-c', command);
  return [stdout, performance.now() - at];
}

for (const [engine, settings] of [
  ['native', { DATAPLANE_ENGINE: 'native' }],
  ['typescript', { ...WITHOUT_WARM_UP, DATAPLANE_ENGINE: 'typescript' }],
] as const)
  test.serial(`with the ${engine} engine, devices reach the LAN by sockets`, async (t) => {
    t.timeout(180_000);
    const prefix = engine === 'native' ? 'sn' : 'st';
    const { topology, alice } = await begin(t, prefix, settings);
    const { lan } = topology;
    const { host } = alice.client;

    for (const address of [LAN4, LAN6]) {
      const { sent, received } = await transfer(host, lan, address, BYTES);
      t.is(received['sha256'], sent['sha256'], `up to ${address}`);
    }
    const server = lan.start(process.execPath, ['-e', SERVER]);
    await new Promise((resolve) => server.stdout!.once('data', resolve));
    const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
    const expected = createHash('sha256')
      .update(cipher.update(Buffer.alloc(BYTES)))
      .digest('hex');
    t.is(await download(host, LAN4), expected);
    t.is(await download(host, LAN6), expected);

    const echo = await new Traffic(lan, 'echo', 7000, LAN4, LAN6).ready();
    // 3,000 bytes are fragments for the device, and for the LAN.
    for (const address of [LAN4, LAN6])
      for (const size of [1_200, 3_000]) {
        const asked = await traffic(host, 'ask', address, 7000, size, 20);
        t.deepEqual(asked, { answered: 20 }, `${size} bytes to ${address}`);
      }
    await echo.stop();
    if (engine === 'native') {
      t.true(await canPing(host, LAN4));
      t.true(await canPing(host, LAN6));
      t.false(await canPing(host, NOBODY, 1), 'no answer is invented');
    }

    const [refused, refusedMs] = await failureOf(host, LAN4, 9);
    t.regex(refused, /Connection refused/);
    t.true(refusedMs < 1_500, `${refusedMs} ms`);
    const [unreachable] = await failureOf(host, NOBODY, 80);
    t.regex(unreachable, /No route to host/);
  });

test.serial('the host itself is out of reach, and a rule ends a connection', async (t) => {
  t.timeout(180_000);
  const { topology, postern, alice } = await begin(t, 'sr', WITHOUT_WARM_UP);
  const { lan, gateway } = topology;
  const { host } = alice.client;
  const local = await new Traffic(gateway, 'accept', 8081).ready();
  t.true(await canReach(lan, HOST_LAN4, 8081), 'the host serves');
  for (const address of [HOST_LAN4, HOST_LAN6, TUNNEL4])
    t.false(await canReach(host, address, 8081), address);
  t.false(await canReach(host, HOST_LAN4, 13_000), 'nor the API');
  await until('it is counted', () => Number(postern.drops()['inner_destination_host']) >= 3);
  await local.stop();

  const receiver = await new Traffic(lan, 'receive', 6000).ready();
  const trickle = new Traffic(host, 'trickle', LAN4, 6000, 20);
  await receiver.line((line) => 'at' in line);
  const at = performance.now();
  const ended = receiver.line((line) => 'sha256' in line).catch(() => 'reset');
  const rule = await postern.create('rule', { action: 'drop', destination: LAN4 });
  t.is(await ended, 'reset');
  t.true(performance.now() - at < END_MS);
  await trickle.stop();
  t.true(await reaches(lan, host, LAN4_OTHER), 'others go on');
  t.false(await reaches(lan, host, LAN4));
  await postern.remove('rule', rule.id);
  t.true(await reaches(lan, host, LAN4));

  const again = await new Traffic(lan, 'receive', 6001).ready();
  const dying = new Traffic(host, 'trickle', LAN4, 6001, 20);
  await again.line((line) => 'at' in line);
  const gone = again.line((line) => 'sha256' in line).catch(() => 'reset');
  const removedAt = performance.now();
  await postern.remove('device', alice.device.id);
  t.is(await gone, 'reset');
  t.true(performance.now() - removedAt < END_MS);
  await dying.stop();
});

async function reaches(lan: Host, host: Host, address: string): Promise<boolean> {
  const accept = await new Traffic(lan, 'accept', 8080).ready();
  const isReached = await canReach(host, address, 8080);
  await accept.stop();
  return isReached;
}
