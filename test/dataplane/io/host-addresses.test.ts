// The addresses of the host, in this network namespace and in that of another process.

import { networkInterfaces } from 'node:os';
import process from 'node:process';
import test from 'ava';
import {
  addressesOf,
  addressesOfInet6,
  addressesOfTrie,
  readHostAddresses,
} from '../../../dataplane/io/host-addresses.ts';
import { formatAddress } from '../../../dataplane/wire/address.ts';

/** As the kernel writes it: both tables, networks, broadcasts, and addresses of the host. */
const TRIE = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 172.17.0.0/16 2 0 2
        +-- 172.17.0.0/30 2 0 2
           |-- 172.17.0.0
              /16 link UNICAST
           |-- 172.17.0.1
              /32 host LOCAL
        |-- 172.17.255.255
           /32 link BROADCAST
Local:
  +-- 0.0.0.0/0 3 0 5
     +-- 127.0.0.0/8 2 0 2
        +-- 127.0.0.0/31 1 0 0
           |-- 127.0.0.0
              /8 host LOCAL
           |-- 127.0.0.1
              /32 host LOCAL
     |-- 172.17.0.1
        /32 host LOCAL
     |-- 198.51.100.7
        /32 host LOCAL
`;

const INET6 = `fe8000000000000000fc00fffe000001 04 40 20 80     eth0
00000000000000000000000000000001 01 80 10 80       lo
20010db8000000000000000000000009 04 40 00 82     eth0
`;

test('IPv4 addresses of the host are in the tries, each once', (t) => {
  t.deepEqual(addressesOfTrie(TRIE).map(formatAddress), [
    '172.17.0.1',
    '127.0.0.1',
    '198.51.100.7',
  ]);
  t.deepEqual(addressesOfTrie(''), []);
});

test('IPv6 addresses of the host are the first column', (t) => {
  t.deepEqual(addressesOfInet6(INET6).map(formatAddress), [
    'fe80::fc:ff:fe00:1',
    '::1',
    '2001:db8::9',
  ]);
  t.deepEqual(addressesOfInet6(''), []);
});

test('what /proc shows are the addresses that this machine has', (t) => {
  const shown = addressesOf(process.pid).map(formatAddress);
  for (const one of Object.values(networkInterfaces()).flat())
    t.true(shown.includes(one!.address), `${one!.address} among ${shown.join(' ')}`);
});

test('addresses in the namespace of the gateway are not outside', (t) => {
  const { here, outside } = readHostAddresses(process.pid);
  t.true(here.map(formatAddress).includes('127.0.0.1'));
  t.false(outside.map(formatAddress).includes('127.0.0.1'));
});

test('what has not changed, or cannot be read, is as before', (t) => {
  const before = readHostAddresses(process.pid);
  t.is(readHostAddresses(process.pid, before), before);
  const known = { here: before.here, outside: [Uint8Array.of(172, 17, 0, 1)] };
  // No process has this number.
  t.is(readHostAddresses(2 ** 31 - 1, known), known);
  t.deepEqual(readHostAddresses(null, known), { here: before.here, outside: [] });
});
