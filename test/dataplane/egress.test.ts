// The egress of a gateway that has none to open: nothing is asked of the host, nothing is warned of.
// And the addresses that devices lose, whose connections it ends.

import test from 'ava';
import { addressesLeft, Egress } from '../../dataplane/egress.ts';
import type { GatewayOptions } from '../../dataplane/descriptors.ts';
import { peer } from '../support/dataplane/simulation.ts';

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
  t.deepEqual(addressesLeft(amendment, before), ['10.0.0.0', 'fd00::1', '10.0.0.1', 'fd00::3']);
});
