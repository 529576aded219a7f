// Networks of the settings in bytes and bits.

import test from 'ava';
import { networksOf } from '../../../lib/reconcile/tunnel-networks.ts';
import { configOf } from '../../support/api/server.ts';

test('networks come as bytes and bits, and a family that is off as nothing', (t) => {
  const networks = networksOf(
    configOf({ WIREGUARD_IPV4_NETWORK: '10.9.0.0/16', WIREGUARD_IPV4_ADDRESS: '10.9.0.1' }),
  );
  t.deepEqual(networks.ipv4, {
    network: Uint8Array.of(10, 9, 0, 0),
    prefixBits: 16,
    address: Uint8Array.of(10, 9, 0, 1),
  });
  t.is(networks.ipv6?.prefixBits, 106);
  t.is(networksOf(configOf({ WIREGUARD_IPV6_ENABLED: 'false' })).ipv6, null);
});
