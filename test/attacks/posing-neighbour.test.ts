// Somebody on the LAN knows the way to the devices and sends to one of them in the name of another
// device, of one that does not exist, or of link-local: the device may trust these more than the
// LAN. Masquerading does not prevent it, because the packets come in.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { formatAddress } from '../../dataplane/wire/address.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { RawDevice } from '../support/network/raw-device.ts';
import { API_ADDRESS, buildTopology, LAN4, LAN6, traffic } from '../support/network/topology.ts';

const PORT = 7_400;

test.serial('nobody on the LAN poses as a device or as link-local', async (t) => {
  t.timeout(120_000);
  const topology = await buildTopology('pn');
  t.teardown(() => topology.network.remove());
  const { gateway, lan } = topology;
  const postern = new Postern(gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  const endpoint = { address: API_ADDRESS, port: 51_820 };
  const alice = await RawDevice.enrol(postern, 'alice@example.test', endpoint);
  t.teardown(() => alice.close());
  const bob = await RawDevice.enrol(postern, 'bob@example.test', endpoint);
  t.teardown(() => bob.close());
  // A kernel that checks ways back would refuse some of it; not every host's does.
  for (const name of ['all', 'g1'])
    await gateway.run('sysctl', '-qw', `net.ipv4.conf.${name}.rp_filter=0`);

  /** Sends to alice in the name of `source`. */
  const pose = async (source: string): Promise<void> => {
    const isIpv6 = source.includes(':');
    const [via, bits, to] = isIpv6
      ? ['2001:db8:2::1', 128, alice.ipv6]
      : ['198.51.100.1', 32, alice.ipv4];
    // The kernel looks for duplicates of an IPv6 address first, and it is no source until then.
    const atOnce = isIpv6 ? ['nodad'] : [];
    await lan.ip('address', 'replace', `${source}/${bits}`, 'dev', 'lo', ...atOnce);
    await lan.ip('route', 'replace', to, 'via', via, 'dev', 'l0', 'src', source);
    await traffic(lan, 'ask', to, PORT, 40, 3);
  };
  const heard = (): string[] =>
    [...new Set(alice.received.map((packet) => sourceOf(packet)))].sort();

  await pose(LAN4);
  await pose(LAN6);
  await until('honest packets come', () => heard().length === 2);
  const forged = [bob.ipv4, '100.64.9.9', '169.254.1.1', '169.254.169.254', bob.ipv6, 'fd00::77'];
  for (const source of forged) await pose(source);
  await sleep(300);
  t.deepEqual(heard(), [LAN4, LAN6].sort());
  await until('they are counted', () => (postern.drops()['packet_source_forged'] ?? 0) >= 15);
});

/** The source of a packet as text. */
function sourceOf(packet: Uint8Array): string {
  return packet[0]! >> 4 === 4
    ? packet.subarray(12, 16).join('.')
    : formatAddress(packet.subarray(8, 24));
}
