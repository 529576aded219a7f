// Somebody removes the TUN interface of a gateway that serves (`ip link del`): it is made again
// with its addresses, clients go on, rules hold. Readiness tells of the moment in between.

import test, { type ExecutionContext } from 'ava';
import { enrol } from '../e2e/people.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  LAN4_OTHER,
  LAN6,
  type Topology,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { API_ADDRESS, API_NETWORK } from './lengths.ts';

const TUN = 'wg-postern';
/** How often in one run: making it again must leave nothing behind that the next time trips over. */
const TIMES = 3;

interface Interface {
  readonly ifindex: number;
  readonly mtu: number;
  readonly addr_info: readonly { readonly local: string; readonly prefixlen: number }[];
}

async function tunOf({ gateway }: Topology): Promise<Interface | null> {
  try {
    const { stdout } = await gateway.run('ip', '-j', 'address', 'show', TUN);
    return (JSON.parse(stdout) as Interface[])[0] ?? null;
  } catch {
    return null;
  }
}

function addressesOf(tun: Interface | null): string[] {
  return (tun?.addr_info ?? [])
    .map(({ local, prefixlen }) => `${local}/${prefixlen}`)
    .filter((address) => !address.startsWith('fe80'))
    .sort();
}

async function isMadeAgain(t: ExecutionContext, topology: Topology, engine: string): Promise<void> {
  const settings = { ...WITHOUT_WARM_UP, DATAPLANE_ENGINE: engine, WIREGUARD_TUN: 'required' };
  const postern = new Postern(topology.gateway, API_ADDRESS, settings);
  await postern.start();
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  const { host } = alice.client;
  await postern.create('rule', { action: 'drop', destination: LAN4_OTHER });
  t.true(await canPing(host, LAN4));
  for (let time = 0; time < TIMES; time += 1) {
    // The gateway has to have seen where the device is: it looks once a second.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const before = await tunOf(topology);
    const begun = performance.now();
    await topology.gateway.ip('link', 'del', TUN);
    await until('another interface', async () => {
      const tun = await tunOf(topology);
      return tun !== null && tun.ifindex !== before?.ifindex && addressesOf(tun).length === 2;
    });
    await until('it is ready', async () => (await postern.readiness()).status === 'ready');
    const after = await tunOf(topology);
    t.deepEqual(addressesOf(after), addressesOf(before));
    t.is(after?.mtu, before?.mtu);
    await until('the lan answers', () => canPing(host, LAN4, 1), 3_000);
    t.log(`${engine}: through again after ${Math.round(performance.now() - begun)} ms`);
    t.true(await canPing(host, LAN6), 'masqueraded, both families');
    t.true(await canPing(host, TUNNEL4));
    t.true(await canPing(host, TUNNEL6));
    t.false(await canPing(host, LAN4_OTHER), 'the rule holds');
  }
  t.is((await postern.call('GET', '/v0/users')).status, 200);
  await postern.stop();
  t.is(await tunOf(topology), null, 'a stop takes it away');
}

for (const engine of ['native', 'typescript'])
  // docs/bugs-of-others.md#bug-15: TUN gone.
  test.serial(`${engine}: a TUN that is removed is made again, with its addresses`, async (t) => {
    t.timeout(120_000);
    const topology = await buildTopology('ot', API_NETWORK);
    try {
      await isMadeAgain(t, topology, engine);
    } finally {
      await topology.network.remove();
    }
  });
