// What is advised of networks: the settings take it, and every peer is inside.

import test from 'ava';
import {
  networkAdvice,
  settingAdvice,
} from '../../../../lib/installation/imports/server-advice.ts';
import { holds } from '../../../../lib/installation/imports/tunnel-networks.ts';
import { parseConfig } from '../../../../config/index.ts';
import { configOf } from '../../../support/api/server.ts';

interface Case {
  readonly what: string;
  readonly addresses: string[];
  readonly peers: string[][];
  readonly wanted: string[];
  readonly settings?: Record<string, string>;
}

const cases: Case[] = [
  {
    what: 'a network with its address',
    addresses: ['10.8.0.1/24', 'fd42::1/64'],
    peers: [['10.8.0.2', 'fd42::2']],
    wanted: [
      'set WIREGUARD_IPV4_NETWORK=10.8.0.0/24',
      'set WIREGUARD_IPV4_ADDRESS=10.8.0.1',
      'set WIREGUARD_IPV6_NETWORK=fd42::/64',
      'set WIREGUARD_IPV6_ADDRESS=fd42::1',
    ],
  },
  {
    what: 'an address without a prefix',
    addresses: ['10.13.13.1'],
    peers: [['10.13.13.2'], ['10.13.13.3']],
    wanted: ['set WIREGUARD_IPV4_NETWORK=10.13.13.0/24', 'set WIREGUARD_IPV4_ADDRESS=10.13.13.1'],
  },
  {
    what: 'an address without a prefix, and peers in more than a network of the usual width',
    addresses: ['10.13.12.1/32'],
    peers: [['10.13.12.2'], ['10.13.13.3']],
    wanted: [
      'set WIREGUARD_IPV4_NETWORK=10.13.12.0/23',
      'set WIREGUARD_IPV4_ADDRESS=10.13.12.1',
      '10.13.12.0/23 holds the addresses of all peers; the gateway has one network of each family',
    ],
  },
  {
    what: 'no address at all',
    addresses: [],
    peers: [['10.13.13.2'], ['10.13.13.3']],
    wanted: ['set WIREGUARD_IPV4_NETWORK=10.13.13.0/24', 'set WIREGUARD_IPV4_ADDRESS=10.13.13.1'],
  },
  {
    what: "the network's own address",
    addresses: ['10.252.1.0/24'],
    peers: [['10.252.1.1'], ['10.252.1.2']],
    wanted: [
      'set WIREGUARD_IPV4_NETWORK=10.252.1.0/24',
      'set WIREGUARD_IPV4_ADDRESS=10.252.1.3',
      '10.252.1.0 cannot be the address of the gateway in 10.252.1.0/24; the clients do not need it, unless it is their DNS server',
    ],
  },
  {
    what: 'two networks, one of them without peers',
    addresses: ['10.9.0.1/24', '10.8.0.1/24'],
    peers: [['10.8.0.2'], ['10.8.0.3']],
    wanted: [
      'set WIREGUARD_IPV4_NETWORK=10.8.0.0/24',
      'set WIREGUARD_IPV4_ADDRESS=10.8.0.1',
      'Address 10.9.0.1/24 is not taken over; the gateway has one network of each family',
    ],
  },
  {
    what: 'two networks with peers',
    addresses: ['10.8.0.1/24', '10.9.0.1/24'],
    peers: [['10.8.0.2'], ['10.9.0.3']],
    wanted: [
      'set WIREGUARD_IPV4_NETWORK=10.8.0.0/15',
      'set WIREGUARD_IPV4_ADDRESS=10.8.0.1',
      '10.8.0.0/15 holds the addresses of all peers; the gateway has one network of each family',
    ],
  },
  {
    what: 'two networks that no private one holds',
    addresses: ['10.8.0.1/24', '192.168.5.1/24'],
    peers: [['10.8.0.2'], ['10.8.0.4'], ['192.168.5.3']],
    wanted: [
      'set WIREGUARD_IPV4_NETWORK=10.8.0.0/24',
      'set WIREGUARD_IPV4_ADDRESS=10.8.0.1',
      'Address 192.168.5.1/24 is not taken over; the gateway has one network of each family',
    ],
  },
  {
    what: 'a link-local network beside another',
    addresses: ['fe80::1/64', 'fd42::1/64'],
    peers: [],
    wanted: [
      'set WIREGUARD_IPV6_NETWORK=fd42::/64',
      'set WIREGUARD_IPV6_ADDRESS=fd42::1',
      'Address fe80::1/64 is not taken over; the gateway has one network of each family',
    ],
  },
  {
    what: 'what is no address',
    addresses: ['10.8.0'],
    peers: [],
    wanted: ['Address 10.8.0 is no address'],
  },
  {
    what: 'a family that is off, and that peers use',
    addresses: ['fd42::1/64'],
    peers: [['fd42::2']],
    wanted: [
      'set WIREGUARD_IPV6_ENABLED=true',
      'set WIREGUARD_IPV6_NETWORK=fd42::/64',
      'set WIREGUARD_IPV6_ADDRESS=fd42::1',
    ],
    settings: { WIREGUARD_IPV6_ENABLED: 'false' },
  },
  {
    what: 'what the settings have already',
    addresses: ['100.64.0.1/10'],
    peers: [['100.64.0.2']],
    wanted: [],
  },
];

for (const { what, addresses, peers, wanted, settings = {} } of cases)
  test(`advice that can be followed: ${what}`, (t) => {
    const config = configOf(settings);
    const { notes, networks } = networkAdvice(config, {
      addresses: addresses.map((text) => ({ text })),
      peers,
    });
    t.deepEqual(notes, wanted);
    const texts = notes.flatMap((note) => {
      const [, name, text] = /^set (\w+)=(\S+)$/.exec(note) ?? [];
      return name === undefined || text === undefined ? [] : [[name, text]];
    });
    const followed = parseConfig({ ...settings, ...Object.fromEntries(texts) }, () => '');
    t.deepEqual(followed.errors, []);
    const left = networks.filter((network) => network !== null);
    if (what !== 'two networks that no private one holds')
      for (const addressesOfPeer of peers)
        t.true(addressesOfPeer.some((one) => left.some((network) => holds(network, one))));
  });

test('where no network fits, that is said with the reason', (t) => {
  const { notes } = networkAdvice(configOf(), { addresses: [{ text: 'fe80::1/64' }], peers: [] });
  t.is(notes.length, 1);
  t.regex(
    notes[0] ?? '',
    /^no WIREGUARD_IPV6_NETWORK fits Address fe80::1\/64, so no IPv6 address is taken over: WIREGUARD_IPV6_NETWORK fe80::\/64 overlaps fe80::\/10/,
  );
});

test('a port and an MTU that the settings refuse are not advised', (t) => {
  const config = configOf();
  t.deepEqual(settingAdvice(config, 'WIREGUARD_PORT', '51999', 51820), [
    'set WIREGUARD_PORT=51999',
  ]);
  t.deepEqual(settingAdvice(config, 'WIREGUARD_PORT', '51820', 51820), []);
  t.regex(
    settingAdvice(config, 'WIREGUARD_PORT', '0', 51820)[0] ?? '',
    /^WIREGUARD_PORT stays 51820: WIREGUARD_PORT must be /,
  );
  t.regex(
    settingAdvice(config, 'WIREGUARD_MTU', '1200', 1280)[0] ?? '',
    /^WIREGUARD_MTU stays 1280/,
  );
});
