// The egress of a gateway that has none to open: nothing is asked of the host, nothing is warned of.
// And the addresses and networks that devices lose, whose connections it ends.

import test from 'ava';
import { Egress, leftBy } from '../../../dataplane/host/egress.ts';
import type { GatewayOptions } from '../../../dataplane/host/descriptors.ts';
import type { PeerConfig } from '../../../dataplane/contract.ts';
import type { NetworkRange } from '../../../dataplane/wire/network.ts';
import { address } from '../../support/dataplane/packets.ts';
import { peer } from '../../support/dataplane/simulation.ts';

test('without forwarding and masquerading nothing is opened, and nothing has to be closed', async (t) => {
  const said: string[] = [];
  const egress = new Egress({
    forwarding: 'off',
    masqueradeIpv4: false,
    masqueradeIpv6: false,
    ipv4: null,
    ipv6: null,
    interfaceName: 'wg-nothing',
    egressInterface: null,
    log: (_level: string, message: string) => said.push(message),
  } as unknown as GatewayOptions);
  await egress.open();
  t.false(egress.isMasqueraded);
  await egress.close();
  t.deepEqual(said, []);
});

/**
 * An egress whose table is there while `kernel.has` says so, and is refused with `kernel.error`.
 */
function masqueraded() {
  const said: string[] = [];
  const kernel = { has: false, error: null as string | null, loads: 0 };
  const options = {
    forwarding: 'off',
    masqueradeIpv4: true,
    masqueradeIpv6: false,
    ipv4: { ...range('10.0.0.0', 24), address: address('10.0.0.1') },
    ipv6: null,
    interfaceName: 'wg-nothing',
    egressInterface: null,
    log: (_level: string, message: string) => said.push(message),
  } as unknown as GatewayOptions;
  const egress = new Egress(options, {
    load() {
      kernel.loads++;
      kernel.has = kernel.error === null;
      return { isMasqueraded: kernel.has, error: kernel.error };
    },
    read: () => (kernel.has ? { untranslatable: 0, tooManyFlows: 0 } : 'gone'),
  });
  return { egress, kernel, said };
}

test('a table that has vanished is loaded until the kernel takes it', async (t) => {
  const { egress, kernel, said } = masqueraded();
  await egress.open();
  t.false(egress.restore());
  t.is(kernel.loads, 1);
  kernel.has = false;
  kernel.error = 'ENOBUFS';
  t.false(egress.restore());
  t.false(egress.isMasqueraded);
  t.false(egress.restore());
  kernel.error = null;
  t.true(egress.restore());
  t.true(egress.isMasqueraded);
  t.false(egress.restore());
  t.is(kernel.loads, 4);
  t.is(said.length, 3);
  t.regex(said[0]!, /has vanished and is loaded again/);
  t.is(said[1], 'ENOBUFS');
  t.regex(said[2]!, /is loaded again$/);
});

test('a table that could not be loaded at the start is not tried again', async (t) => {
  const { egress, kernel, said } = masqueraded();
  kernel.error = 'Operation not permitted';
  await egress.open();
  t.false(egress.restore());
  t.deepEqual([kernel.loads, said.length], [1, 1]);
});

test('the addresses that a change takes from peers: of those that go, and those that change', (t) => {
  const peers = ['a', 'b', 'c', 'd'].map((key, i) =>
    peer({ key, ipv4: `10.0.0.${i}`, ipv6: `fd00::${i + 1}` }),
  );
  const before = new Map(peers.map((one) => [one.publicKey, one]));
  const amendment = {
    peers: new Map([
      ['a', null],
      ['b', peer({ key: 'b', ipv4: '10.0.0.9', ipv6: 'fd00::2' })],
      ['c', peer({ key: 'c', ipv4: '10.0.0.2', ipv6: null })],
      ['new', peer({ key: 'new', ipv4: '10.0.0.0' })],
      ['unknown', null],
    ]),
    rules: new Map(),
  };
  t.deepEqual(leftBy(amendment, before), {
    addresses: ['10.0.0.0', 'fd00::1', '10.0.0.1', 'fd00::3'],
    networks: [],
  });
});

test('the networks behind peers that a change takes from them', (t) => {
  const [one, two, six] = [range('192.168.1.0', 24), range('192.168.2.0', 24), range('fd07::', 64)];
  const with_ = (key: string, routes: readonly NetworkRange[]): PeerConfig => ({
    ...peer({ key }),
    routes,
  });
  const before = new Map([
    ['a', with_('a', [one, six])],
    ['b', with_('b', [two])],
    ['c', with_('c', [])],
  ]);
  const amendment = {
    peers: new Map([
      ['a', null],
      ['b', with_('b', [two, one])],
      ['c', with_('c', [six])],
    ]),
    rules: new Map(),
  };
  t.deepEqual(leftBy(amendment, before), { addresses: [], networks: [one, six] });
  const shrunk = { peers: new Map([['a', with_('a', [range('192.168.1.0', 25), six])]]) };
  t.deepEqual(leftBy({ ...shrunk, rules: new Map() }, before).networks, [one]);
});

function range(network: string, prefixBits: number): NetworkRange {
  return { network: address(network), prefixBits };
}
