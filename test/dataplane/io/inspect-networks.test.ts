// Networks of the host that overlap with those of the tunnel.

import type { NetworkInterfaceInfo } from 'node:os';
import test from 'ava';
import { inspectNetworks } from '../../../dataplane/io/inspect-networks.ts';

const TUNNEL = {
  interfaceName: 'wg-postern',
  runningTun: 'wg7',
  ipv4: {
    network: Uint8Array.of(100, 64, 0, 0),
    prefixBits: 10,
    address: Uint8Array.of(100, 64, 0, 1),
  },
  ipv6: {
    network: Uint8Array.of(0xfd, ...Array<number>(15).fill(0)),
    prefixBits: 106,
    address: Uint8Array.of(0xfd, ...Array<number>(14).fill(0), 1),
  },
};

/** What is found where `eth0` has one address. */
function found(cidr: string, name = 'eth0', tunnel = TUNNEL): (string | null)[] {
  const family = cidr.includes(':') ? 'IPv6' : 'IPv4';
  const info = { address: cidr.split('/')[0]!, cidr, family } as NetworkInterfaceInfo;
  return inspectNetworks(tunnel, () => ({ [name]: [info] })).map(({ level, message, fix }) =>
    level === 'ok' ? 'ok' : `${level}: ${message}; ${fix}`,
  );
}

test('a network of the host that overlaps with a network of the devices is named', (t) => {
  t.deepEqual(found('fd00::5/64'), [
    'warning: eth0 has fd00::5/64, which overlaps with the network of the devices fd00::/106: addresses there lead to devices or to hosts, never to both; ' +
      'set WIREGUARD_IPV6_NETWORK and WIREGUARD_IPV6_ADDRESS to a network that this host does not use, before there are devices',
  ]);
  t.regex(found('100.64.7.2/24')[0]!, /WIREGUARD_IPV4_NETWORK/);
  t.regex(found('100.0.0.1/8')[0]!, /^warning: eth0 has 100\.0\.0\.1\/8/);
});

test('networks beside them, the own interface and a family that is off are well', (t) => {
  for (const cidr of ['10.0.0.5/8', 'fd00:0:0:1::5/64', 'fe80::1/64', '100.128.0.1/10'])
    t.deepEqual(found(cidr), ['ok'], cidr);
  for (const name of ['wg-postern', 'wg7']) t.deepEqual(found('100.64.0.1/10', name), ['ok'], name);
  const ipv4Only = { ...TUNNEL, ipv6: null } as unknown as typeof TUNNEL;
  t.deepEqual(found('fd00::5/64', 'eth0', ipv4Only), ['ok']);
});

test('interfaces that cannot be read are no error', (t) => {
  const fail = (): never => {
    throw new Error('uv_interface_addresses returned an error');
  };
  t.deepEqual(
    inspectNetworks(TUNNEL, fail).map(({ level }) => level),
    ['warning'],
  );
});
