// Which end-to-end tests run with each way out of the gateway (EGRESS), and what differs from a TUN.
// Each difference names the row of the table of docs/guides/where-it-runs.md that says it;
// test/tidy/ways.test.ts compares the two.

import { type Way, way } from '../support/suite/ways.ts';

/** Files that say themselves how packets leave, or carry none. */
export const withOwnWay: Readonly<Record<string, string>> = {
  'test/e2e/first-start.test.ts': 'is about a start without settings',
  'test/e2e/host-sockets.test.ts': 'starts no gateway',
  'test/e2e/left-over.test.ts': 'starts no gateway',
  'test/e2e/lemonldap.test.ts': 'carries no packets',
  'test/e2e/own-address.test.ts': 'has each way',
  'test/e2e/rootless.test.ts': 'is about pasta',
  'test/e2e/simplesamlphp.test.ts': 'carries no packets',
  'test/e2e/sockets-clients.test.ts': 'has sockets always',
  'test/e2e/sockets-memory.test.ts': 'has sockets always',
  'test/e2e/sockets.test.ts': 'has sockets always',
  'test/e2e/tcp-relay.test.ts': 'starts no gateway',
  'test/e2e/unprivileged.test.ts': 'is about what is missing',
};

/** Rows of the table, by their first cells. */
export const FROM_OUTSIDE = 'a host behind the gateway opens a connection to a device';
export const PING = 'ping';
export const LARGE_ANSWERS =
  'UDP answers to devices over IPv6 that are larger than `WIREGUARD_MTU`';
export const WORKER_ENDS = 'TCP connections of a device whose worker fails';
const CLASSES = 'the class of packets (DSCP, ECN)';
const INNER_TCP = 'who sends to the device inside the tunnel';
const PAUSED =
  'TCP connections of a device that may send nothing for a time, as when its VPN session has ended';
const NETWORK_BEHIND =
  'a network behind a [device](../api.md#networks-behind-a-device), for hosts behind the gateway';

const WITHOUT_TUN = ['sockets', 'rootless'] as const;

/** A test that is not run with some ways, because of what one row says. */
export interface Difference {
  readonly file: string;
  /** How its title ends. */
  readonly title: string;
  readonly ways: readonly Way[];
  readonly row: string;
}

/** What part of a test depends on is asked of `differs`, and named here too. */
export const differences: readonly Difference[] = [
  {
    file: 'branches.test.ts',
    title: 'offices behind devices and a laptop that roams reach each other',
    ways: WITHOUT_TUN,
    row: NETWORK_BEHIND,
  },
  {
    file: 'capture.test.ts',
    title: 'super-packets of TCP are captured as they are, and every byte is there',
    ways: WITHOUT_TUN,
    row: FROM_OUTSIDE,
  },
  {
    file: 'capture.test.ts',
    title: 'a packet whose checksum is not complete has a comment that says so',
    ways: WITHOUT_TUN,
    row: FROM_OUTSIDE,
  },
  {
    file: 'device-mtu.test.ts',
    title: 'no segment is larger than a device takes, whoever opens the connection',
    ways: WITHOUT_TUN,
    row: INNER_TCP,
  },
  {
    file: 'device-mtu.test.ts',
    title: 'a sender of packets that are too large for a device gets the MTU that fits',
    ways: WITHOUT_TUN,
    row: FROM_OUTSIDE,
  },
  {
    file: 'ecn.test.ts',
    title: 'the class is 0 outside and unchanged inside, over IPv4 and IPv6',
    ways: WITHOUT_TUN,
    row: CLASSES,
  },
  {
    file: 'explain-elsewhere.test.ts',
    title: 'a device at another gateway is not reached here, and is there',
    ways: WITHOUT_TUN,
    row: FROM_OUTSIDE,
  },
  {
    file: 'explain.test.ts',
    title: 'what is explained is what happens, gate by gate',
    ways: WITHOUT_TUN,
    row: FROM_OUTSIDE,
  },
  {
    file: 'link-local.test.ts',
    title: 'a silent client at a link-local address is served again after a restart',
    ways: WITHOUT_TUN,
    row: FROM_OUTSIDE,
  },
  {
    file: 'portal.test.ts',
    title: 'a file from the browser carries traffic while the VPN session lasts',
    ways: WITHOUT_TUN,
    row: PAUSED,
  },
  {
    file: 'switches.test.ts',
    title:
      'a device stops in both directions when it is disabled, expires or its owner is disabled',
    ways: WITHOUT_TUN,
    row: FROM_OUTSIDE,
  },
  {
    file: 'unreachable.test.ts',
    title: 'who pings a device that cannot be reached hears so at once',
    ways: WITHOUT_TUN,
    row: FROM_OUTSIDE,
  },
];

/** Tests that cannot be tried with a way, for a reason of the test itself. */
export const untried: readonly (Omit<Difference, 'row'> & { readonly why: string })[] = [
  {
    file: 'restart.test.ts',
    title: 'a worker that dies is started again, and its clients go on',
    ways: ['rootless'],
    why: 'the inspector, by which it lets a worker throw, is in the namespace of pasta',
  },
  {
    file: 'capture.test.ts',
    title: 'a client that reads slowly loses packets, and the tunnel loses none',
    ways: ['rootless'],
    why: 'what the client does not read waits in pasta',
  },
];

/** Rows that tests of their own show, and none of those that run with each way. */
export const shownElsewhere: Readonly<Record<string, string>> = {
  'other ICMP, GRE, ESP, SCTP and all other protocols': 'test/dataplane/path/inward.test.ts',
  'a device keeps its source port': 'test/dataplane/sockets/egress.test.ts',
  'packets of devices keep their addresses (`WIREGUARD_IPV4_MASQUERADE=false`)':
    'test/e2e/unprivileged.test.ts',
  "services of the gateway's own host": 'test/e2e/sockets.test.ts',
  "the gateway's database and identity providers, at private addresses":
    'test/dataplane/sanity.test.ts',
  "the gateway's own tunnel address": 'test/e2e/own-address.test.ts',
  'one interface for what leaves (`GATEWAY_EGRESS_INTERFACE`)': 'test/e2e/host-sockets.test.ts',
};

/** Rows on which a part of a test depends, and of which ways; the rest of it runs with each way. */
export const inParts = {
  [FROM_OUTSIDE]: WITHOUT_TUN,
  [PING]: WITHOUT_TUN,
  [LARGE_ANSWERS]: ['rootless'],
  [WORKER_ENDS]: ['sockets'],
} as const satisfies Readonly<Record<string, readonly Way[]>>;

/** Whether a row says something else of the way of this run than of a TUN, for a part of a test. */
export function differs(row: keyof typeof inParts): boolean {
  const ways: readonly Way[] = inParts[row];
  return ways.includes(way);
}

/** Files that ask the engine in TypeScript for pings (PING). */
const pinging = way === 'sockets' ? ['test/e2e/typescript.test.ts'] : [];

/** For the configuration of AVA: the files that do not run with the way of this run. */
export const withoutOwnWay =
  way === 'tun' ? [] : [...Object.keys(withOwnWay), ...pinging].map((file) => `!${file}`);

/** For the configuration of AVA: the titles that run with the way of this run. */
export const titlesOfWay =
  way === 'tun'
    ? {}
    : {
        match: [
          '*',
          ...[...differences, ...untried]
            .filter(({ ways }) => ways.includes(way))
            .map(({ title }) => `!*${title}`),
        ],
      };
