// The interfaces of link-local endpoints, found by the own addresses that peers send to.

import type { NetworkInterfaceInfo } from 'node:os';
import test from 'ava';
import type { Heard, PeerConfig } from '../../../dataplane/contract.ts';
import { withInterfaces } from '../../../dataplane/io/link-local.ts';
import { peer } from '../../support/dataplane/simulation.ts';

function has(address: string, scopeid: number): NetworkInterfaceInfo {
  const rest = { netmask: '', mac: '', internal: false, cidr: null };
  return address.includes(':')
    ? { ...rest, family: 'IPv6', address, scopeid }
    : { ...rest, family: 'IPv4', address };
}

const INTERFACES = {
  eth0: [has('192.0.2.1', 0), has('2001:db8::1', 0), has('fe80::1', 2)],
  eth1: [has('fe80::2', 3), has('fe80::7', 3)],
  eth2: [has('fe80::7', 4)],
  gone: undefined,
};

function at(address: string, local: string | null): PeerConfig {
  const resume: Heard = { endpoint: { address, port: 7 }, local, heardAtMs: 5 };
  return { ...peer({ key: 'a' }), resume };
}

function endpointOf(one: PeerConfig): string | undefined {
  const [after] = withInterfaces([one], () => INTERFACES);
  return after?.resume?.endpoint.address;
}

test('a link-local endpoint is at the interface that has the own address', (t) => {
  t.is(endpointOf(at('fe80::99', 'fe80::1')), 'fe80::99%2');
  t.is(endpointOf(at('fe80::99', 'fe80:0:0::2')), 'fe80::99%3');
  const [after] = withInterfaces([at('febf::1', 'fe80::2')], () => INTERFACES);
  t.deepEqual(after?.resume, {
    endpoint: { address: 'febf::1%3', port: 7 },
    local: 'fe80::2',
    heardAtMs: 5,
  });
});

test('where it is not known, or two have the address, the endpoint stays as it is', (t) => {
  for (const local of [null, 'fe80::5', 'fe80::7', '192.0.2.1', 'nothing'])
    t.is(endpointOf(at('fe80::99', local)), 'fe80::99', String(local));
});

test('nobody is asked for other endpoints', (t) => {
  const peers = [
    at('192.0.2.9', '192.0.2.1'),
    at('2001:db8::9', 'fe80::1'),
    at('fe80::99%3', 'fe80::1'),
    at('fec0::1', 'fe80::1'),
    peer({ key: 'b' }),
  ];
  const fail = (): never => t.fail('interfaces were read') as never;
  t.is(withInterfaces(peers, fail), peers);
});

test('interfaces that cannot be read are no error', (t) => {
  const peers = [at('fe80::99', 'fe80::1')];
  const after = withInterfaces(peers, () => {
    throw new Error('EMFILE');
  });
  t.deepEqual(after, peers);
});
