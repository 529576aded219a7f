// The path outside gets narrower than the tunnel's own packets, down to the 1,280 bytes that IPv6
// promises, while devices of the usual MTU are at work: what no longer fits goes in fragments and
// nothing stalls. docs/packets.md#trains-and-the-path-mtu.

import test, { type ExecutionContext } from 'ava';
import type { Host } from '../support/network/namespaces.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY6_BOB,
  LAN4,
  Traffic,
  traffic,
  transfer,
} from '../support/network/topology.ts';
import { enrol } from './people.ts';
import { differs, FROM_OUTSIDE } from './ways.ts';

const NARROW = '1280';
const BYTES = 20_000_000;
/** The most that fits the tunnel's MTU of 1,420 over IPv4, in one packet. */
const DATAGRAM = 1_420 - 28;
const PORT = 7_300;
/** What a transfer may take on the wide path; on an idle machine of two cores it is one second. */
const WIDE_MS_MAX = 20_000;

/** And on the narrow one, with twice as many packets: too little for a stall of many seconds. */
function narrowMsMax(wideMs: number): number {
  return 4 * wideMs + 3_000;
}

/** Moves bytes, which must arrive unchanged and in time; resolves to the ms that it took. */
async function move(
  t: ExecutionContext,
  [from, to, address]: readonly [from: Host, to: Host, address: string],
  msMax: number,
  says: string,
): Promise<number> {
  const begun = performance.now();
  const { sent, received } = await transfer(from, to, address, BYTES);
  const ms = Math.round(performance.now() - begun);
  t.deepEqual(received, { bytes: BYTES, sha256: sent['sha256'] }, says);
  t.true(ms <= msMax, `${says}: ${ms} ms of ${msMax}`);
  t.log(`${says}: ${ms} ms`);
  return ms;
}

test.serial('a path of 1,280 bytes outside is no black hole, over IPv4 and IPv6', async (t) => {
  t.timeout(180_000);
  const { network, alice, bob, gateway, lan } = await buildTopology('pu');
  t.teardown(() => network.remove());
  const postern = new Postern(gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
    WIREGUARD_MTU: '1420',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  // Devices are masqueraded, and the lan sends to them too.
  await lan.ip('route', 'add', '100.64.0.0/10', 'via', '198.51.100.1');
  const people = [
    await enrol(postern, alice, 'alice@example.test', `${GATEWAY4}:51820`),
    await enrol(postern, bob, 'bob@example.test', `[${GATEWAY6_BOB}]:51820`),
  ];
  const echo = await new Traffic(lan, 'echo', PORT, LAN4).ready();
  t.teardown(() => echo.stop());
  const narrowMax = new Map<string, number>();
  for (const isNarrow of [false, true]) {
    if (isNarrow) {
      for (const host of [alice, bob]) await host.ip('link', 'set', 'c0', 'mtu', NARROW);
      for (const name of ['g0', 'g2']) await gateway.ip('link', 'set', name, 'mtu', NARROW);
    }
    for (const { client, device } of people) {
      const ipv4 = String(device['ipv4']);
      const says = `${ipv4}, ${isNarrow ? 'narrow' : 'wide'}`;
      await client.host.ip('link', 'set', client.interfaceName, 'mtu', '1420');
      t.true(await canPing(client.host, LAN4), says);
      for (const [way, ends] of [
        ['up', [client.host, lan, LAN4]],
        ['down', [lan, client.host, ipv4]],
      ] as const) {
        if (way === 'down' && differs(FROM_OUTSIDE)) continue;
        const msMax = narrowMax.get(way + ipv4) ?? WIDE_MS_MAX;
        const ms = await move(t, ends, msMax, `${way}: ${says}`);
        if (!isNarrow) narrowMax.set(way + ipv4, narrowMsMax(ms));
      }
      const asked = await traffic(client.host, 'ask', LAN4, PORT, DATAGRAM, 50);
      t.deepEqual(asked, { answered: 50 }, `datagrams of ${DATAGRAM} bytes: ${says}`);
    }
  }
});
