// A drop rule has ended a UDP flow of a device, and the device wants to go on with it. It opens so
// many other flows that the refused one is removed; later the gateway is started again. Each time
// the host outside sends first. Masquerading keeps the way open.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { udp } from '../support/dataplane/packets.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { RawDevice } from '../support/network/raw-device.ts';
import {
  API_ADDRESS,
  buildTopology,
  LAN4,
  LAN4_OTHER,
  Traffic,
} from '../support/network/topology.ts';
import { measureSlowness } from '../support/suite/slowness.ts';

const PORT = 5_300;
/** The gateway, as the host outside sees it. */
const EGRESS4 = '198.51.100.1';
const ECHO_PORT = 5_301;
/** More than a device may have at once. */
const OTHERS = 4_800;
/** The kernel admits nearly 4,096 of them; some datagrams are lost on the way. */
const ENOUGH = 4_000;
/** What the kernel then refuses has passed the packet path, where the refused flow was removed. */
const REFUSED_BY_KERNEL = 500;
const QUIET_MS = 1_000;

for (const engine of ['native', 'typescript'])
  test.serial(
    `${engine}: neither a full table nor a restart frees what a rule ended`,
    async (t) => {
      t.timeout(240_000);
      const slowness = await measureSlowness();
      const topology = await buildTopology('ff');
      t.teardown(() => topology.network.remove());
      const settings = { ...WITHOUT_WARM_UP, WIREGUARD_TUN: 'required', DATAPLANE_ENGINE: engine };
      const postern = new Postern(topology.gateway, API_ADDRESS, settings);
      await postern.start();
      t.teardown(() => postern.stop());
      const endpoint = { address: API_ADDRESS, port: 51_820 };
      const device = await RawDevice.enrol(postern, 'mallory@example.test', endpoint);
      t.teardown(() => device.close());
      const first = await new Traffic(topology.lan, 'echo', PORT, LAN4).ready();
      await new Traffic(topology.lan, 'echo', ECHO_PORT, LAN4_OTHER).ready();
      const say = (number: number): Promise<void> => device.send(numbered(device.ipv4, number));
      const isHost = (packet: Uint8Array): boolean => packet.subarray(12, 16).join('.') === LAN4;

      await say(0);
      await until('the host answers', () => device.received.some(isHost));
      await first.stop();
      await postern.create('rule', { action: 'drop', destination: LAN4 });
      await say(1);
      const others = Array.from({ length: OTHERS }, (_, i) =>
        udp({
          source: device.ipv4,
          destination: LAN4_OTHER,
          sourcePort: 10_000 + i,
          destinationPort: ECHO_PORT,
          data: 'open',
        }),
      );
      device.received.length = 0;
      const areAnswered = async (): Promise<boolean> => {
        await device.send(...others);
        const refused = /reason="kernel_too_many_flows"\} (\d+)/.exec(await postern.metrics())?.[1];
        return portsOf(device.received).size > ENOUGH && Number(refused ?? 0) > REFUSED_BY_KERNEL;
      };
      await until('the others are answered', areAnswered, slowness * 40_000);
      // From here on the host sends all the time, and counts the numbers that arrive.
      const host = new Traffic(topology.lan, 'pace', PORT, 20, EGRESS4);
      await host.ready();
      await sleep(QUIET_MS);
      await say(2);
      t.false(device.received.some(isHost), 'after others took its place');

      // When the gateway stops, it notes that the device was known.
      await postern.stop();
      await postern.start();
      await device.connect();
      device.received.length = 0;
      await until('the device is served again', () => device.canPing(LAN4_OTHER));
      await sleep(QUIET_MS);
      await say(3);
      await sleep(200);
      t.false(device.received.some(isHost), 'after a restart');
      host.child.stdin?.end();
      const { sent, received } = await host.line((line) => 'received' in line);
      t.true(Number(sent) > 50, `${String(sent)} sent`);
      t.is(received, 0, 'of what the device said');
      const { rule_drop = 0 } = postern.drops();
      t.true(rule_drop > 10, `${rule_drop} refused`);
    },
  );

/** The ports at which the echo answered. */
function portsOf(packets: readonly Uint8Array[]): Set<number> {
  return new Set(packets.map((packet) => Buffer.from(packet).readUInt16BE(22)));
}

/** What the program at the other end reads: a number, and when it was sent. */
function numbered(source: string, number: number): Uint8Array {
  const data = Buffer.alloc(12);
  data.writeUInt32BE(number);
  return udp({ source, destination: LAN4, sourcePort: PORT, destinationPort: PORT, data });
}
