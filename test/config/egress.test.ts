// Which settings go together with sockets of the gateway: a socket has the address of the gateway.

import test from 'ava';
import { socketsBarred } from '../../config/egress.ts';
import { configOf } from '../../lib/testing/settings.ts';

const FAMILIES = ['IPV4', 'IPV6'] as const;

test('packets that are to keep their addresses do not go with sockets', (t) => {
  for (const family of FAMILIES) {
    const name = `WIREGUARD_${family}_MASQUERADE`;
    const unmasked = { [name]: 'false' };
    const { message } = t.throws(() => configOf({ ...unmasked, WIREGUARD_TUN: 'sockets' })) ?? {};
    t.regex(message ?? '', new RegExp(`^${name}=false does not go with WIREGUARD_TUN=sockets`));
    for (const WIREGUARD_TUN of ['auto', 'required', 'off'])
      t.notThrows(() => configOf({ ...unmasked, WIREGUARD_TUN }));
    t.is(
      socketsBarred(configOf(unmasked)),
      `${name}=false, which sockets of the gateway cannot obey`,
    );
    const unused = { ...unmasked, [`WIREGUARD_${family}_ENABLED`]: 'false' };
    t.notThrows(() => configOf({ ...unused, WIREGUARD_TUN: 'sockets' }));
    t.is(socketsBarred(configOf(unused)), null);
  }
  t.is(socketsBarred(configOf({})), null);
});

test('an interface for what leaves goes with sockets, which are bound to it', (t) => {
  const config = configOf({ WIREGUARD_TUN: 'sockets', GATEWAY_EGRESS_INTERFACE: 'eth1' });
  t.is(config.gatewayEgressInterface, 'eth1');
  t.is(config.wireguardTun, 'sockets');
});
