// Somebody sets the TUN interface of a gateway that serves down and up (`ip link set`): the kernel
// has removed its IPv6 address and all routes to it, and the gateway puts them back. As long as the
// interface is down, it stays as it is. What `ip addr flush` takes of one that is up comes back too.

import test, { type ExecutionContext } from 'ava';
import { enrol, type Person } from '../e2e/people.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import type { Readiness } from '../../lib/observe/gateway-state.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import type { Host } from '../support/network/namespaces.ts';
import {
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  LAN6,
  type Topology,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { API_ADDRESS, API_NETWORK } from './lengths.ts';

const TUN = 'wg-postern';
const OFFICE = ['10.77.0.0/24', '10.78.0.0/24', '2001:db8:77::/64', '2001:db8:78::/64'];

/** The addresses of the TUN and the routes to it, each in a line; without those of the link. */
async function stateOf(gateway: Host): Promise<string[]> {
  const addresses = await gateway.run('ip', '-brief', 'address', 'show', 'dev', TUN);
  const routes = await Promise.all(
    ['-4', '-6'].map((family) => gateway.run('ip', family, 'route', 'show', 'dev', TUN)),
  );
  const words = addresses.stdout.trim().split(/\s+/).slice(2);
  const lines = routes.flatMap(({ stdout }) => stdout.trim().split('\n'));
  return [...words, ...lines.map((line) => line.trim().replace(/ linkdown/, ''))]
    .filter((line) => !line.startsWith('fe80'))
    .sort();
}

function lossesIn(postern: Postern): number {
  return postern.output.split(`${TUN} had lost its addresses and routes`).length - 1;
}

async function arePutBack(topology: Topology, postern: Postern, alice: Person): Promise<void> {
  const { gateway } = topology;
  const before = await stateOf(gateway);
  const losses = lossesIn(postern);
  await gateway.ip('link', 'set', TUN, 'down');
  await gateway.ip('link', 'set', TUN, 'up');
  const isBack = async (): Promise<boolean> =>
    (await stateOf(gateway)).join('\n') === before.join('\n');
  await until('addresses and routes', isBack);
  for (const address of [LAN4, LAN6, TUNNEL6])
    await until(`${address} answers`, () => canPing(alice.client.host, address, 1));
  await until('a line in the log', async () => lossesIn(postern) > losses);
}

async function isPutBack(t: ExecutionContext, topology: Topology, engine: string): Promise<void> {
  const { gateway } = topology;
  const settings = { ...WITHOUT_WARM_UP, DATAPLANE_ENGINE: engine, WIREGUARD_TUN: 'required' };
  const postern = new Postern(gateway, API_ADDRESS, settings);
  await postern.start();
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  const device = { routes: OFFICE };
  t.is((await postern.call('PATCH', `/v0/devices/${alice.device.id}`, { device })).status, 200);
  for (const address of [LAN4, LAN6]) t.true(await canPing(alice.client.host, address));
  const before = await stateOf(gateway);
  for (const network of OFFICE) t.regex(before.join('\n'), new RegExp(`^${network}`, 'm'));
  await arePutBack(topology, postern, alice);

  await gateway.ip('link', 'set', TUN, 'down');
  // The gateway looks once a second.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  const down = await stateOf(gateway);
  t.deepEqual(
    down.filter((line) => line.includes(':') || line.startsWith('10.7')),
    [],
    'it stays down',
  );
  t.is(lossesIn(postern), 1);
  await gateway.ip('link', 'set', TUN, 'up');
  await until('all is back', async () => (await stateOf(gateway)).length === before.length);
  t.deepEqual(await stateOf(gateway), before);
  await until('the lan answers', () => canPing(alice.client.host, LAN6, 1));
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  t.is(lossesIn(postern), 2, 'it is said once each time');

  await gateway.ip('addr', 'flush', 'dev', TUN);
  await until('a flush is repaired', async () => (await stateOf(gateway)).length === before.length);
  t.deepEqual(await stateOf(gateway), before);
  for (const address of [TUNNEL4, TUNNEL6])
    await until(`${address} answers`, () => canPing(alice.client.host, address, 1));

  // The kernel takes no IPv6 address any more.
  const setIpv6Off = (off: 0 | 1) =>
    gateway.run('sysctl', '-w', `net.ipv6.conf.${TUN}.disable_ipv6=${off}`);
  await setIpv6Off(1);
  await until('it is not ready', async () => (await postern.readiness()).status !== 'ready');
  const answer = await fetch(`${postern.api}/readyz`);
  const { status: state, reason } = (await answer.json()) as Readiness;
  t.is(state, 'tun_address_missing');
  t.regex(reason ?? '', new RegExp(`^${TUN} has lost ${TUNNEL6}: `));
  t.true(await canPing(alice.client.host, TUNNEL4, 1));
  await setIpv6Off(0);
  await until('it is ready', async () => (await postern.readiness()).status === 'ready');
  await until('it answers', () => canPing(alice.client.host, TUNNEL6, 1));
  await alice.client.stop();
  await postern.stop();
}

for (const engine of ['native', 'typescript'])
  test.serial(`${engine}: a TUN that was down has its addresses and routes again`, async (t) => {
    t.timeout(120_000);
    const topology = await buildTopology('od', API_NETWORK);
    try {
      await isPutBack(t, topology, engine);
    } finally {
      await topology.network.remove();
    }
  });
