// What counts as one address, outside of the tunnel and in it.

import test from 'ava';
import { TunnelAddresses } from '../../../../lib/kit/http/tunnel-addresses.ts';
import { configOf } from '../../../support/api/server.ts';

const { scopeOf } = new TunnelAddresses(configOf());
const networkOf = (address: string) => new TunnelAddresses(configOf()).networkOf(address);

test('an IPv6 network of a customer counts as one client, and so does an IPv4 address', (t) => {
  t.is(scopeOf('2001:db8:1:2::1'), scopeOf('2001:db8:1:2:ffff::9'));
  t.not(scopeOf('2001:db8:1:2::1'), scopeOf('2001:db8:1:3::1'));
  t.not(scopeOf('192.0.2.1'), scopeOf('192.0.2.2'));
  t.is(scopeOf('::ffff:192.0.2.1'), '192.0.2.1');
  t.is(scopeOf(''), '');
});

test('a network that one customer may have counts as one', (t) => {
  t.is(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'));
  t.not(networkOf('2001:db8:1::1'), networkOf('2001:db8:2::1'));
  t.is(networkOf('192.0.2.1'), networkOf('::ffff:192.0.2.2'));
  t.not(networkOf('192.0.2.1'), networkOf('192.0.3.1'));
});

test('a device counts as itself in both families, in any spelling', (t) => {
  for (const one of [scopeOf, networkOf]) {
    t.not(one('fd00::2'), one('fd00::3'));
    t.is(one('fd00::2'), one('FD00:0:0::2'));
    t.not(one('100.64.0.2'), one('100.64.0.3'));
    t.is(one('100.64.0.2'), one('::ffff:100.64.0.2'));
  }
  // fd00::/106 ends before it.
  t.is(scopeOf('fd00::40:0'), scopeOf('fd00::40:1'));
});

test('a family that is switched off has no devices', (t) => {
  const tunnel = new TunnelAddresses(configOf({ WIREGUARD_IPV6_ENABLED: 'false' }));
  t.is(tunnel.scopeOf('fd00::2'), tunnel.scopeOf('fd00::3'));
  t.true(tunnel.isOfDevice('100.64.0.2'));
  t.false(tunnel.isOfDevice('fd00::2'));
});

test('the addresses of the gateway in the tunnel are of no device', (t) => {
  const tunnel = new TunnelAddresses(configOf());
  for (const own of ['100.64.0.1', '::ffff:100.64.0.1', 'fd00::1']) {
    t.true(tunnel.isOwn(own), own);
    t.false(tunnel.isOfDevice(own), own);
  }
  for (const other of ['192.0.2.1', '2001:db8::1', '']) t.false(tunnel.isOfDevice(other), other);
});
