// A device asks for the credentials of the gateway's host, at every address at which a cloud would
// answer that host. The LAN plays the cloud.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { udp } from '../support/dataplane/packets.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { RawDevice } from '../support/network/raw-device.ts';
import { API_ADDRESS, buildTopology, LAN4, LAN6, Traffic } from '../support/network/topology.ts';

const PORT = 7_401;
const clouds4 = ['168.63.129.16', '100.100.100.200', '192.0.0.192'];
const clouds6 = ['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', '64:ff9b::a83f:8110'];
const clouds = [...clouds4, ...clouds6];

test.serial('no device asks a cloud in the name of the host, until it is allowed', async (t) => {
  t.timeout(120_000);
  const topology = await buildTopology('cm');
  t.teardown(() => topology.network.remove());
  const { gateway, lan } = topology;
  for (const cloud of clouds) {
    const isIpv6 = cloud.includes(':');
    await lan.ip('address', 'add', `${cloud}/${isIpv6 ? 128 : 32}`, 'dev', 'lo');
    await gateway.ip('route', 'add', cloud, 'via', isIpv6 ? LAN6 : LAN4);
  }
  await new Traffic(lan, 'echo', PORT, LAN4, ...clouds).ready();
  // 100.100.100.200 is no cloud's where it lies in the network of the devices.
  const settings = {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
    WIREGUARD_IPV4_NETWORK: '100.64.0.0/16',
  };
  const postern = new Postern(gateway, API_ADDRESS, settings);
  await postern.start();
  t.teardown(() => postern.stop());
  const endpoint = { address: API_ADDRESS, port: 51_820 };
  const device = await RawDevice.enrol(postern, 'mallory@example.test', endpoint);
  t.teardown(() => device.close());
  const ask = (destination: string): Promise<void> => {
    const source = destination.includes(':') ? device.ipv6 : device.ipv4;
    return device.send(udp({ source, destination, destinationPort: PORT, data: 'who am I?' }));
  };

  for (const cloud of clouds) await ask(cloud);
  await ask(LAN4);
  await until('the LAN answers', () => device.received.length > 0);
  await sleep(300);
  t.is(device.received.length, 1, 'and nobody else');
  await until(
    'they are counted',
    () => postern.drops()['inner_destination_metadata'] === clouds.length,
  );

  await postern.stop();
  postern.environment['ALLOW_CLOUD_METADATA'] = 'true';
  await postern.start();
  await device.connect();
  device.received.length = 0;
  for (const cloud of clouds) await ask(cloud);
  await until('all answer', () => device.received.length === clouds.length);
});
