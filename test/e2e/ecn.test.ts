// Congestion marks (ECN) and service classes. Outside, the gateway sends class 0, whatever the
// packet inside has. The packet inside arrives as it was sent, whatever happened to the one
// outside. dataplane/wireguard/decisions/2026-11-22-ecn.md.

import test from 'ava';
import { Capture, NFT } from '../support/network/capture.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY6_BOB,
  LAN4,
  LAN6,
} from '../support/network/topology.ts';
import { enrol } from './people.ts';

/** Voice that allows congestion marks (ECT(0)), and a packet with such a mark (CE). */
const CLASSES = [0xba, 0x03];
const PINGS = 3;
/** On its way to the gateway every datagram gets a congestion mark. */
const CONGESTED = `table inet congested {
  chain out {
    type filter hook output priority 0;
    udp dport 51820 ip ecn set ce
    udp dport 51820 ip6 ecn set ce
  }
}`;

/** The classes of the packets in a capture. */
function classesIn(capture: Capture): number[] {
  return capture.packets().map((packet) => {
    const first = packet.readUInt16BE();
    return first >> 12 === 4 ? first & 0xff : (first >> 4) & 0xff;
  });
}

test.serial('the class is 0 outside and unchanged inside, over IPv4 and IPv6', async (t) => {
  t.timeout(120_000);
  const { network, alice, bob, gateway, lan } = await buildTopology('ec');
  t.teardown(() => network.remove());
  const postern = new Postern(gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  for (const [host, email, endpoint, outer] of [
    [alice, 'alice@example.test', `${GATEWAY4}:51820`, 'g0'],
    [bob, 'bob@example.test', `[${GATEWAY6_BOB}]:51820`, 'g2'],
  ] as const) {
    const { client } = await enrol(postern, host, email, endpoint);
    await host.run(NFT, CONGESTED);
    for (const to of [LAN4, LAN6]) {
      t.true(await canPing(host, to));
      const ping = to === LAN4 ? 'icmp' : 'icmp6 and ip6[40] >= 128 and ip6[40] <= 129';
      for (const wanted of CLASSES) {
        const says = `${email} to ${to}, ${wanted}`;
        const captures = await Promise.all([
          new Capture(gateway, outer, '-Q', 'in', 'udp dst port 51820').ready(),
          new Capture(gateway, outer, '-Q', 'out', 'udp src port 51820').ready(),
          new Capture(lan, 'l0', ping).ready(),
          new Capture(host, client.interfaceName, ping).ready(),
        ]);
        await host.run('ping', '-n', '-Q', `${wanted}`, '-c', `${PINGS}`, '-i', '0.2', to);
        // Inside there are requests and answers, which have the class of the request.
        const least = [PINGS, PINGS, 2 * PINGS, 2 * PINGS];
        const isSeen = (): boolean =>
          captures.every((each, i) => each.packets().length >= least[i]!);
        await until(`all is seen: ${says}`, isSeen, 5_000);
        const [arrived, sent, atLan, atClient] = captures.map(classesIn);
        await Promise.all(captures.map((each) => each.stop()));
        t.deepEqual([...new Set(arrived)], [3], `congestion was met: ${says}`);
        t.deepEqual([...new Set(sent)], [0], `outside: ${says}`);
        const unchanged = Array.from({ length: 2 * PINGS }, () => wanted);
        t.deepEqual(atLan, unchanged, `at the lan: ${says}`);
        t.deepEqual(atClient, unchanged, `at the client: ${says}`);
      }
    }
  }
});
