// The addresses of the TUN: what is put back after somebody has set it down and up, and what is said
// where that is refused. With a real interface it is tried by test/ops/tun-down.test.ts.

import test from 'ava';
import type { NetworkConfig } from '../../../dataplane/contract.ts';
import { TunAddresses } from '../../../dataplane/host/tun-addresses.ts';

const V4 = new Uint8Array([10, 0, 0, 1]);
const V6 = new Uint8Array([0xfd, ...Array.from({ length: 14 }, () => 0), 1]);
const LINK_LOCAL = new Uint8Array([0xfe, 0x80, ...Array.from({ length: 14 }, () => 9)]);

function network(address: Uint8Array, prefixBits: number): NetworkConfig {
  return { network: address, address, prefixBits };
}

/** An interface with addresses; `error`: why it takes none. */
function open({ ipv6 = V6 as Uint8Array | null } = {}) {
  const host = { present: [V4, V6] as Uint8Array[], error: '', isUp: true };
  const added: string[] = [];
  const said: string[] = [];
  const options = {
    interfaceName: 'wg-test',
    ipv4: network(V4, 8),
    ipv6: ipv6 === null ? null : network(ipv6, 106),
    addon: {
      isLinkUp: () => {
        if (host.error === 'ENODEV') throw new Error(host.error);
        return host.isUp;
      },
      addAddress(name: string, address: Uint8Array, prefixBits: number) {
        if (host.error !== '') throw new Error(host.error);
        added.push(`${name} ${address.length} /${prefixBits}`);
        host.present.push(address);
      },
    },
    log: (level: string, text: string) => said.push(`${level} ${text}`),
  };
  const addresses = new TunAddresses(options, (name) => {
    if (host.error === 'EMFILE') throw new Error(host.error);
    return name === 'wg-test' ? host.present : [];
  });
  return { addresses, host, added, said };
}

test('what is missing of an interface that is up is added', (t) => {
  const { addresses, host, added, said } = open();
  t.false(addresses.restore(host.present));
  host.present = [V4, LINK_LOCAL];
  t.true(addresses.restore(host.present));
  t.false(addresses.restore(host.present));
  host.present = [LINK_LOCAL];
  t.true(addresses.restore(host.present));
  t.deepEqual(added, ['wg-test 16 /106', 'wg-test 4 /8', 'wg-test 16 /106']);
  t.deepEqual(said, []);
});

test('an interface that is down stays as it is', (t) => {
  const { addresses, host, added } = open();
  host.present = [];
  host.isUp = false;
  t.false(addresses.restore([]));
  host.isUp = true;
  host.error = 'ENODEV';
  t.false(addresses.restore([]), 'one that has vanished is made again elsewhere');
  t.deepEqual(added, []);
});

test('all addresses of an interface that stays up are added again after a flush', (t) => {
  const { addresses, host, added } = open();
  host.present = [];
  t.true(addresses.restore([]));
  t.deepEqual(added, ['wg-test 4 /8', 'wg-test 16 /106']);
  t.false(addresses.restore(host.present));
});

test('what the host had a second ago does not count, and a family that is off is not missing', (t) => {
  const { addresses, added } = open();
  t.false(addresses.restore([]), 'the interface has both');
  const four = open({ ipv6: null });
  t.false(four.addresses.restore([V4]));
  t.deepEqual([...added, ...four.added], []);
});

test('a refusal is said once after the address was there, and it is tried again', (t) => {
  const { addresses, host, said } = open();
  host.present = [V4];
  host.error = 'EACCES';
  t.false(addresses.restore(host.present), 'the start has said so');
  t.deepEqual(said, []);
  host.error = '';
  t.true(addresses.restore(host.present));
  t.false(addresses.restore(host.present));
  host.present = [V4];
  host.error = 'EACCES';
  for (let time = 0; time < 2; time += 1) t.false(addresses.restore(host.present));
  t.deepEqual(said, ['warn wg-test has lost fd00::1: EACCES']);
});

test('it is settled while none is missing that was there; one that never was is tried alone', (t) => {
  const { addresses, host, added } = open();
  t.false(addresses.isSettled, 'nobody has looked yet');
  host.present = [V4];
  host.error = 'EACCES';
  addresses.restore(host.present);
  t.true(addresses.isSettled, 'IPv6 is off');
  t.false(addresses.addAbsent());
  host.error = '';
  host.isUp = false;
  t.false(addresses.addAbsent(), 'who set it down wants it so');
  host.isUp = true;
  t.true(addresses.addAbsent());
  t.deepEqual(added, ['wg-test 16 /106']);
  t.false(addresses.addAbsent());
  host.present = [V6];
  host.error = 'EMFILE';
  addresses.restore(host.present);
  t.false(addresses.isSettled, 'it could not be read');
});

test('the address that is lost and refused is an error until it is there again', (t) => {
  const { addresses, host } = open();
  addresses.restore(host.present);
  t.is(addresses.error, null);
  host.present = [V4];
  host.error = 'EACCES';
  addresses.restore(host.present);
  t.is(addresses.error, 'wg-test has lost fd00::1: EACCES');
  host.present = [];
  addresses.restore(host.present);
  t.is(addresses.error, 'wg-test has lost 10.0.0.1: EACCES', 'the first of two');
  host.error = '';
  t.true(addresses.restore(host.present));
  t.is(addresses.error, null);
});

test('an address that the start did not get, as where IPv6 is off, is no error', (t) => {
  const { addresses, host } = open();
  host.present = [V4];
  host.error = 'EACCES';
  for (let time = 0; time < 3; time += 1) addresses.restore(host.present);
  t.is(addresses.error, null);
});

test('addresses that cannot be read are looked for again later', (t) => {
  const { addresses, host, added } = open();
  host.present = [V4];
  host.error = 'EMFILE';
  t.false(addresses.restore([V4]));
  t.deepEqual(added, []);
});
