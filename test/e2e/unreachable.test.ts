// Whoever pings a device that has never connected, or an address that no device has, from the host
// or from the LAN, hears at once that it is not there, over IPv4 and IPv6. So does who pings a host
// behind such a device. docs/packets.md#icmp-errors.

import test, { type ExecutionContext } from 'ava';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import type { Host } from '../support/network/namespaces.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';

const NOBODY4 = '100.64.0.222';
const NOBODY6 = 'fd00::dede';
const OFFICE = '172.23.0.0/24';
/** Without an answer ping waits for so many seconds; with one it ends at once. */
const PATIENCE = 10;

/** Pings once; returns who says that the address cannot be reached. */
async function refusedBy(t: ExecutionContext, host: Host, address: string): Promise<string> {
  const begun = performance.now();
  const { stdout } = await host
    .run('ping', '-n', '-c', '1', '-W', String(PATIENCE), address)
    .catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }));
  const ms = performance.now() - begun;
  const said =
    /From (\S+) icmp_seq=1 Destination (?:Host Unreachable|unreachable: Address unreachable)/;
  t.regex(stdout, said, address);
  t.true(ms < (PATIENCE * 1_000) / 2, `${address}: ${Math.round(ms)} ms`);
  return said.exec(stdout)?.[1] ?? stdout;
}

test.serial('who pings a device that cannot be reached hears so at once', async (t) => {
  t.timeout(120_000);
  const { network, gateway, lan } = await buildTopology('nr');
  t.teardown(() => network.remove());
  const settings = { ...WITHOUT_WARM_UP, WIREGUARD_TUN: 'required' };
  const postern = new Postern(gateway, API_ADDRESS, settings);
  await postern.start();
  t.teardown(() => postern.stop());
  await lan.ip('route', 'add', '100.64.0.0/10', 'via', '198.51.100.1');
  await lan.ip('-6', 'route', 'add', 'fd00::/106', 'via', '2001:db8:2::1');
  await lan.ip('route', 'add', OFFICE, 'via', '198.51.100.1');
  const user = await postern.create('user', { email: 'alice@example.test' });
  const device = await postern.create('device', {
    user_id: user.id,
    public_key: makeKeyPair().publicKey,
    routes: [OFFICE],
  });
  const [device4, device6] = [String(device['ipv4']), String(device['ipv6'])];
  t.true(await canPing(lan, TUNNEL4));
  for (const host of [gateway, lan]) {
    for (const address of [device4, NOBODY4, '172.23.0.9'])
      t.is(await refusedBy(t, host, address), TUNNEL4, `${host.namespace}, ${address}`);
    for (const address of [device6, NOBODY6])
      t.is(await refusedBy(t, host, address), TUNNEL6, `${host.namespace}, ${address}`);
  }
  const counted = /^wg_gateway_unreachable_answers_total\{[^}]*result="sent"[^}]*\} [1-9]/m;
  await until('the answers are counted', async () => counted.test(await postern.metrics()));
});
