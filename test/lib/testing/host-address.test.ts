// Addresses that hosts behind the TUN cannot have.

import test from 'ava';
import { refuseInsideTunnel } from '../../../lib/testing/host-address.ts';
import { configOf } from '../../../lib/testing/settings.ts';

const config = configOf({
  WIREGUARD_IPV4_NETWORK: '10.44.0.0/24',
  WIREGUARD_IPV4_ADDRESS: '10.44.0.1',
  WIREGUARD_IPV6_NETWORK: 'fd44::/120',
  WIREGUARD_IPV6_ADDRESS: 'fd44::1',
});

test('an address of the gateway or of a device is refused, with what to do', (t) => {
  for (const own of ['10.44.0.1', 'fd44::1'])
    t.throws(() => refuseInsideTunnel(own, config), {
      instanceOf: TypeError,
      message: /is the gateway’s own address, where it answers already; give/,
    });
  t.throws(() => refuseInsideTunnel('10.44.0.9', config), {
    message: /WIREGUARD_IPV4_NETWORK; .*addDevice\(\{ ipv4: '10\.44\.0\.9' \}\)$/,
  });
  t.throws(() => refuseInsideTunnel('fd44::ff', config), { message: /WIREGUARD_IPV6_NETWORK/ });
});

test('all others may be taken, and all of a family that is switched off', (t) => {
  for (const address of ['10.44.1.1', '10.43.255.255', 'fd44::100', '192.0.2.1'])
    t.notThrows(() => refuseInsideTunnel(address, config), address);
  const off = configOf({ WIREGUARD_IPV6_ENABLED: 'false' });
  t.notThrows(() => refuseInsideTunnel('fd00::1', off));
});
