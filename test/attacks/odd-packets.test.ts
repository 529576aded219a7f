// A device sends what no honest sender makes. Malformed TCP, UDP and ICMP, which the kernel does
// not translate, must not leave at all. First fragments that are never followed by the rest must
// not take the memory in which the kernel puts together everybody's datagrams.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { Capture } from '../support/network/capture.ts';
import { concat, fragmentHeader, ip, tcp, udp } from '../support/dataplane/packets.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { RawDevice } from '../support/network/raw-device.ts';
import {
  API_ADDRESS,
  buildTopology,
  LAN4,
  LAN6,
  type Topology,
} from '../support/network/topology.ts';

const PORT = 7_402;
/** More than the kernel has room for, where nothing bounds it. */
const UNFINISHED = 4_000;
const PIECE_BYTES = 1_200;

interface Scene {
  readonly topology: Topology;
  readonly postern: Postern;
  readonly mallory: RawDevice;
  readonly bob: RawDevice;
}

async function begin(t: ExecutionContext, prefix: string): Promise<Scene> {
  const topology = await buildTopology(prefix);
  t.teardown(() => topology.network.remove());
  const postern = new Postern(topology.gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  const endpoint = { address: API_ADDRESS, port: 51_820 };
  const mallory = await RawDevice.enrol(postern, 'mallory@example.test', endpoint);
  t.teardown(() => mallory.close());
  const bob = await RawDevice.enrol(postern, 'bob@example.test', endpoint);
  t.teardown(() => bob.close());
  return { topology, postern, mallory, bob };
}

test.serial('malformed packets do not leave, and are counted', async (t) => {
  t.timeout(120_000);
  const { topology, postern, mallory } = await begin(t, 'om');
  const capture = await new Capture(topology.lan, 'l0', '-Q', 'in', 'not arp').ready();
  const odd = (source: string, destination: string): Uint8Array[] => {
    const isIpv6 = source.includes(':');
    const upper = isIpv6 ? 40 : 20;
    const changed = (bytes: Uint8Array, at: number, ...values: number[]): Uint8Array => {
      bytes.set(values, upper + at);
      return bytes;
    };
    const ends = { source, destination, sourcePort: 4_000, destinationPort: PORT };
    const error = Uint8Array.of(isIpv6 ? 1 : 3, 1, 0, 0, 0, 0, 0, 0);
    return [
      ...[0x00, 0x03, 0xff, 0x08, 0x29].map((flags) => tcp({ ...ends, flags })),
      changed(tcp({ ...ends, flags: 0x02 }), 12, 0x40),
      changed(udp({ ...ends, data: 'abcd' }), 4, 0, 3),
      changed(udp({ ...ends, data: 'abcd' }), 4, 0, 200),
      ip({ ...ends, protocol: isIpv6 ? 58 : 1, payload: error }),
    ];
  };
  await mallory.send(...odd(mallory.ipv4, LAN4), ...odd(mallory.ipv6, LAN6));
  t.true(await mallory.canPing(LAN4));
  await until('they are counted', () => {
    const drops = postern.drops();
    return (
      drops['inner_tcp_malformed'] === 12 &&
      drops['inner_udp_malformed'] === 4 &&
      drops['inner_icmp_malformed'] === 2
    );
  });
  const packets = await capture.stop();
  // Protocols 1 and 58 with an echo request, and what neighbours say to each other over IPv6.
  t.deepEqual(
    packets.filter((packet) => [6, 17].includes(packet[packet[0]! >> 4 === 4 ? 9 : 6]!)),
    [],
  );
});

test.serial('datagrams that are never finished cost nobody else any', async (t) => {
  t.timeout(90_000);
  const { topology, postern, mallory, bob } = await begin(t, 'of');
  t.true(await pingsLarge(bob, LAN4, 1), 'fragments pass');
  const firsts = Array.from({ length: UNFINISHED }, (_, identification) =>
    udp({
      source: mallory.ipv4,
      destination: LAN4,
      destinationPort: PORT,
      data: new Uint8Array(PIECE_BYTES),
      identification,
      fragment: 0x2000,
    }),
  );
  const six = Array.from({ length: UNFINISHED }, (_, identification) =>
    udp({
      source: mallory.ipv6,
      destination: LAN6,
      destinationPort: PORT,
      data: new Uint8Array(PIECE_BYTES),
      extensions: [fragmentHeader(0, true, identification)],
    }),
  );
  await mallory.send(...firsts, ...six);
  await until('they are counted', () => (postern.drops()['inner_fragments_share'] ?? 0) > 6_000);
  const { stdout } = await topology.gateway.run('cat', '/proc/net/sockstat');
  const held = Number(/FRAG: inuse \d+ memory (\d+)/.exec(stdout)?.[1]);
  t.is(held, 0, 'the kernel holds none of them');
  t.true(await pingsLarge(bob, LAN4, 1_000), 'a neighbour is served');
  t.true(await pingsLarge(mallory, LAN4, 9_000), 'so is who did it: the oldest give way');
});

/** Whether most pings that are larger than a packet are answered. */
async function pingsLarge(device: RawDevice, to: string, first: number): Promise<boolean> {
  device.received.length = 0;
  const count = 10;
  for (let i = 0; i < count; i++) {
    const request = concat(Uint8Array.of(8, 0, 0, 0, 0, first & 0xff, 0, i), new Uint8Array(2_392));
    new DataView(request.buffer).setUint16(2, checksumOf(request));
    const fields = { source: device.ipv4, destination: to, protocol: 1, identification: first + i };
    await device.send(
      ip({ ...fields, payload: request.subarray(0, 1_200), fragment: 0x2000 }),
      ip({ ...fields, payload: request.subarray(1_200), fragment: 1_200 / 8 }),
    );
    await sleep(20);
  }
  await sleep(500);
  const isAnswer = (packet: Uint8Array): boolean =>
    packet[0]! >> 4 === 4 && packet[9] === 1 && (packet[6]! & 0x1f) === 0 && packet[7] === 0;
  return device.received.filter(isAnswer).length >= 0.8 * count;
}

function checksumOf(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i]! << 8) | bytes[i + 1]!;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
