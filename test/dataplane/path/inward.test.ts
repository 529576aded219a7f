// Inner packets of devices: what is refused, and by which name.

import test from 'ava';
import {
  ECHO_TO_SENDER,
  TO_NOBODY,
  TO_PEER,
  TO_TUN,
  Verdict,
} from '../../../dataplane/path/verdict.ts';
import { UP } from '../../../dataplane/path/limits.ts';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import type { Peer } from '../../../dataplane/wireguard/peer.ts';
import {
  address,
  counting,
  echoRequest,
  extension,
  flagsOf,
  fragmentHeader,
  ip,
  tcp,
  turned,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { type Client, gatewayAndClient, peer, rule } from '../../support/dataplane/simulation.ts';
import { rulesFor } from '../../support/dataplane/whole-configs.ts';
import { asked, Tables } from '../../support/filter/verdicts.ts';
import {
  connected,
  connectedClients,
  from,
  from6,
} from '../../support/dataplane/pipeline-scenes.ts';

// ---- gates for inner packets -----------------------------------------------------------------

const inner: readonly [title: string, bytes: Uint8Array, wanted: ReasonName][] = [
  [
    'the address of another device',
    udp({ ...from, source: '10.0.0.3' }),
    'inner_source_not_allowed',
  ],
  [
    'the IPv6 address of another device',
    udp({ ...from6, source: 'fd00::3' }),
    'inner_source_not_allowed',
  ],
  ['the address of the gateway', udp({ ...from, source: '10.0.0.1' }), 'inner_source_not_allowed'],
  ['an address that nobody has', udp({ ...from, source: '10.0.0.77' }), 'inner_source_not_allowed'],
  ['an address of the internet', udp({ ...from, source: '8.8.8.8' }), 'inner_source_not_allowed'],
  [
    'an IPv6 address of the internet',
    udp({ ...from6, source: '2001:db8::2' }),
    'inner_source_not_allowed',
  ],
  ['a source of loopback', udp({ ...from, source: '127.0.0.1' }), 'inner_source_reserved'],
  ['a source of nothing', udp({ ...from, source: '0.0.0.0' }), 'inner_source_reserved'],
  ['a multicast source', udp({ ...from, source: '224.0.0.1' }), 'inner_source_reserved'],
  ['a broadcast source', udp({ ...from, source: '255.255.255.255' }), 'inner_source_reserved'],
  ['a link-local source', udp({ ...from, source: '169.254.1.1' }), 'inner_source_reserved'],
  ['an IPv6 source of loopback', udp({ ...from6, source: '::1' }), 'inner_source_reserved'],
  ['an IPv6 source of nothing', udp({ ...from6, source: '::' }), 'inner_source_reserved'],
  ['an IPv6 link-local source', udp({ ...from6, source: 'fe80::2' }), 'inner_source_reserved'],
  ['a v4-mapped source', udp({ ...from6, source: '::ffff:10.0.0.2' }), 'inner_source_reserved'],
  ['a multicast IPv6 source', udp({ ...from6, source: 'ff02::1' }), 'inner_source_reserved'],
  [
    'a destination of loopback',
    udp({ ...from, destination: '127.0.0.1' }),
    'inner_destination_reserved',
  ],
  [
    'a destination of nothing',
    udp({ ...from, destination: '0.0.0.0' }),
    'inner_destination_reserved',
  ],
  [
    'a multicast destination',
    udp({ ...from, destination: '239.1.1.1' }),
    'inner_destination_reserved',
  ],
  [
    'a broadcast destination',
    udp({ ...from, destination: '255.255.255.255' }),
    'inner_destination_reserved',
  ],
  [
    'the metadata service of a cloud',
    udp({ ...from, destination: '169.254.169.254' }),
    'inner_destination_reserved',
  ],
  [
    'an IPv6 destination of loopback',
    udp({ ...from6, destination: '::1' }),
    'inner_destination_reserved',
  ],
  [
    'an IPv6 link-local destination',
    udp({ ...from6, destination: 'fe80::1' }),
    'inner_destination_reserved',
  ],
  [
    'a v4-mapped destination',
    udp({ ...from6, destination: '::ffff:127.0.0.1' }),
    'inner_destination_reserved',
  ],
  ['all IPv6 nodes', udp({ ...from6, destination: 'ff02::1' }), 'inner_destination_reserved'],
  ['the broadcast address of the VPN', udp({ ...from, destination: '10.0.0.255' }), 'no_peer'],
  ['a device that is not there', udp({ ...from, destination: '10.0.0.99' }), 'no_peer'],
  ['an IPv6 device that is not there', udp({ ...from6, destination: 'fd00::99' }), 'no_peer'],
  ['no IP at all', counting(64, 0x75), 'inner_malformed'],
  ['a packet that is longer than it is', withLength(udp(from), 200), 'inner_malformed'],
  [
    'too many extension headers',
    udp({ ...from6, extensions: Array.from({ length: 9 }, () => extension(60)) }),
    'inner_headers_unparsable',
  ],
  [
    'a first fragment that hides its ports',
    ip({ ...from, protocol: 17, payload: counting(4), fragment: 0x2000 }),
    'inner_fragment_unsafe',
  ],
  [
    'a TCP fragment at offset 8',
    ip({ ...from, protocol: 6, payload: counting(40), fragment: 1 }),
    'inner_fragment_unsafe',
  ],
  [
    'the same over IPv6',
    tcp({ ...from6, extensions: [fragmentHeader(1, false)] }),
    'inner_fragment_unsafe',
  ],
];

function withLength(bytes: Uint8Array, length: number): Uint8Array {
  viewOf(bytes).setUint16(2, length);
  return bytes;
}

for (const [title, bytes, wanted] of inner) {
  test(`from a device: ${title}: ${wanted}`, (t) => {
    const { world, gateway, clients } = connectedClients(2);
    const sent = world.wire.length;
    clients[0]!.send(bytes);
    world.run(100);
    t.deepEqual(gateway.drops(), { [wanted]: 1 });
    t.deepEqual(gateway.delivered, []);
    t.deepEqual(clients[1]!.delivered, []);
    t.is(world.wire.length, sent + 1);
  });
}

test('a device without an IPv6 address has none to speak with', (t) => {
  const { world, gateway, client } = gatewayAndClient();
  gateway.apply([peer({ key: client.key, ipv4: '10.0.0.2' })]);
  client.send(udp({ source: 'fd00::2', destination: 'fd00::1' }));
  world.run(100);
  t.deepEqual(gateway.drops(), { inner_source_not_allowed: 1 });
});

// docs/bugs-of-others.md#bug-10: source by the longest prefix.
test('a device speaks for its own addresses alone, whatever its own file says', (t) => {
  const { world, gateway, clients } = connectedClients(2);
  const texts = ['10.0.0.0', '10.0.0.1', '10.0.0.3', '10.0.1.2', '192.0.2.1', '11.0.0.2'];
  for (const source of texts) clients[0]!.send(udp({ ...from, source }));
  clients[0]!.send(udp(from));
  world.run(100);
  t.deepEqual(gateway.drops(), { inner_source_not_allowed: texts.length });
  t.deepEqual(gateway.delivered, [udp(from)]);
});

test('the host is not reached past the network namespace of the gateway', (t) => {
  const { world, gateway, clients } = connectedClients(2);
  const [first, second] = clients as [Client, Client];
  // An address of the host that a device has too is that of the device.
  const outside = ['192.0.2.66', '2001:db8::66', '10.0.0.3'].map(address);
  gateway.pipeline.setHostAddresses({ here: [], outside });
  gateway.delivered.length = 0;
  first.send(
    udp({ ...from, destination: '192.0.2.66' }),
    tcp({ ...from, destination: '192.0.2.66' }),
    echoRequest(from.source, '192.0.2.66'),
    udp({ source: 'fd00::2', destination: '2001:db8::66' }),
  );

  const beside = udp({ ...from, destination: '192.0.2.67' });
  first.send(udp({ ...from, destination: '10.0.0.3' }), beside);
  world.run(100);
  t.deepEqual(gateway.drops(), { inner_destination_host: 4 });
  t.deepEqual(gateway.delivered, [beside]);
  t.is(second.delivered.length, 1);
  gateway.pipeline.setHostAddresses({ here: [], outside: [] });
  first.send(udp({ ...from, destination: '192.0.2.66' }));
  world.run(100);
  t.is(gateway.delivered.length, 2);
});

test('the tunnel is not led through itself, at any address of this host', (t) => {
  const { world, gateway, client } = connected();
  const here = [address('192.0.2.1'), address('2001:db8::1')];
  gateway.pipeline.setHostAddresses({ here, outside: [] });
  gateway.delivered.length = 0;
  const from6 = { source: 'fd00::2', destinationPort: 51_820 };
  client.send(
    udp({ ...from, destination: '192.0.2.1', destinationPort: 51_820 }),
    udp({ ...from, destination: '10.0.0.1', destinationPort: 51_820 }),
    udp({ ...from6, destination: '2001:db8::1' }),
    udp({ ...from6, destination: 'fd00::1' }),
  );
  const others = [
    udp({ ...from, destination: '192.0.2.1', destinationPort: 51_821 }),
    udp({ ...from, destination: '192.0.2.2', destinationPort: 51_820 }),
    udp({ ...from6, destination: '2001:db8::2' }),
    tcp({ ...from, destination: '192.0.2.1', destinationPort: 51_820 }),
  ];
  client.send(...others);
  world.run(100);
  t.deepEqual(gateway.drops(), { inner_own_endpoint: 4 });
  t.deepEqual(gateway.delivered, others);
});

test('the inner source is looked at before the rules, so that nobody hits the rule of another', (t) => {
  const { world, gateway, clients, peers } = connectedClients(2);
  gateway.apply(peers, { owner: [rule('1', 'drop', '0.0.0.0/0')] });
  clients[0]!.send(udp({ ...from, source: '10.0.0.3' }));
  world.run(100);
  t.deepEqual(gateway.sample().rules, []);
  t.deepEqual(gateway.drops(), { inner_source_not_allowed: 1 });
});

test('a packet for the internet leaves by the TUN without its padding', (t) => {
  const { world, gateway, client } = connected();
  gateway.delivered.length = 0;
  const packets = [1, 2, 3, 16, 17].map((length) => udp({ ...from, data: counting(length) }));
  client.send(...packets);
  world.run(100);
  t.deepEqual(gateway.delivered, packets);
});

test('UDP over IPv6 without a checksum passes every way as it is', (t) => {
  const { world, gateway, clients } = connectedClients(2);
  const [first, second] = clients as [Client, Client];
  gateway.delivered.length = 0;
  const ends = { checksum: 0, data: counting(50) };
  const out = udp({ ...ends, ...from6 });
  const across = udp({ ...ends, source: 'fd00::2', destination: 'fd00::3' });
  const back = udp({ ...ends, source: from6.destination, destination: 'fd00::2' });
  // The second of two that are alike is not judged by itself.
  first.send(out, out, across, across);
  gateway.send(back, back);
  world.run(100);
  t.deepEqual(gateway.drops(), {});
  t.deepEqual(gateway.delivered, [out, out]);
  const arrived = udp({ ...ends, source: 'fd00::2', destination: 'fd00::3', hopLimit: 63 });
  t.deepEqual(second.delivered, [arrived, arrived]);
  t.deepEqual(first.delivered, [back, back]);
});

// ---- the verdict alone -----------------------------------------------------------------------

const echo = echoRequest('10.0.0.2', '10.0.0.1');
const large = udp({ ...from, destination: '10.0.0.3', data: counting(1_300) });

const verdicts: readonly [title: string, bytes: Uint8Array, reason: ReasonName, place: number][] = [
  ['to the internet', udp(from), 'none', TO_TUN],
  ['to the gateway', udp({ ...from, destination: '10.0.0.1' }), 'none', TO_TUN],
  ['to another device', udp({ ...from, destination: '10.0.0.3' }), 'none', TO_PEER],
  ['to nobody', udp({ ...from, destination: '10.0.0.9' }), 'no_peer', TO_NOBODY],
  ['under a rule that drops', udp({ ...from, destination: '192.0.2.77' }), 'rule_drop', TO_NOBODY],
  ['too big for the other device', large, 'packet_too_big', TO_NOBODY],
  [
    'in the name of another',
    udp({ ...from, source: '10.0.0.3' }),
    'inner_source_not_allowed',
    TO_NOBODY,
  ],
  ['of nothing that can be read', counting(30, 0x45), 'inner_malformed', TO_NOBODY],
];

for (const [title, bytes, reason, place] of verdicts) {
  test(`a packet ${title} has a verdict that changes nothing: ${reason}`, (t) => {
    const tables = new Tables();
    rulesFor(tables.filter)('0', [rule('1', 'drop', '192.0.2.77')]);
    const { inward, peers } = tables;
    const verdict = asked(bytes, (...packet) => inward.judge(...withPeer(packet, peers[0]!)));
    t.is(reasonNames[verdict.reason], reason);
    t.is(verdict.place, place);
    t.deepEqual(tables.state, [0, []]);
    inward.isClosed = true;
    const closed = asked(bytes, (...packet) => inward.judge(...withPeer(packet, peers[0]!)));
    t.is(reasonNames[closed.reason], 'database_away');
  });
}

test('without a TUN an echo goes back to its sender, and nothing else to the gateway', (t) => {
  const { inward, peers } = new Tables(false);
  const ask = (bytes: Uint8Array): Verdict =>
    asked(bytes, (...packet) => inward.judge(...withPeer(packet, peers[0]!)));
  t.like(ask(echo), { reason: reasons.none, place: ECHO_TO_SENDER });
  t.like(ask(udp({ ...from, destination: '10.0.0.1' })), {
    reason: reasons.no_tun,
    place: TO_NOBODY,
  });
});

type Asked = readonly [view: DataView, offset: number, length: number, verdict: Verdict];

function withPeer([view, offset, length, verdict]: Asked, peer: Peer) {
  return [view, offset, length, peer, verdict] as const;
}

// ---- a verdict that repeats ------------------------------------------------------------------

const internet = { source: '10.0.0.2', destination: '192.0.2.1', data: 'abcdefgh' };
const segment = tcp({ ...internet, flags: flagsOf('A') });
const datagram6 = udp({ ...internet, source: 'fd00::2', destination: '2001:db8::1' });

/** The verdict on the last of some packets of a peer, each tracked before the next is judged. */
function following(tables: Tables, ...packets: readonly Uint8Array[]): Verdict {
  const verdict = new Verdict();
  for (const bytes of packets) {
    tables.inward.judge(viewOf(bytes), 0, bytes.length, tables.peers[0]!, verdict);
    tables.tracker.track(verdict.packet, verdict.flow);
  }
  return verdict;
}

function repeats(tables: Tables, verdict: Verdict, bytes: Uint8Array, peer = 0): boolean {
  const { inward, peers } = tables;
  return inward.repeats(viewOf(bytes), 0, bytes.length, peers[peer]!, verdict);
}

const openers = [
  ['TCP', tcp({ ...internet, flags: flagsOf('S') }), segment],
  ['UDP', udp(internet), udp(internet)],
  ['UDP over IPv6', datagram6, datagram6],
] as const;

for (const [title, opening, continuing] of openers)
  test(`${title}: a verdict that repeats is the one that the packet would get`, (t) => {
    const tables = new Tables();
    rulesFor(tables.filter)('0', [rule('1', 'accept', internet.destination)]);
    following(tables, opening);
    let repeated = 0;
    for (let bit = 0; bit < 8 * continuing.length; bit++) {
      const changed = turned(continuing, bit);
      const verdict = following(tables, continuing);
      if (!repeats(tables, verdict, changed)) continue;
      repeated += 1;
      const judged = new Verdict();
      tables.inward.judge(viewOf(changed), 0, changed.length, tables.peers[0]!, judged);
      t.deepEqual(verdict, judged, `bit ${bit}`);
    }
    t.true(repeated > 60, `${repeated}`);
  });

test('a verdict repeats only where a flow goes on through the TUN', (t) => {
  const tables = new Tables();
  const opened = following(tables, udp(internet));
  t.false(repeats(tables, opened, udp(internet)), 'the flow has just been opened');
  t.false(repeats(tables, following(tables, udp(internet)), udp(internet), 1), 'of another peer');
  t.true(repeats(tables, following(tables, udp(internet)), udp(internet)));
  const toPeer = udp({ ...internet, destination: '10.0.0.3' });
  t.false(repeats(tables, following(tables, toPeer, toPeer), toPeer), 'to a peer');
  rulesFor(tables.filter)('0', [rule('1', 'accept', '192.0.2.9')]);
  const renewed = following(tables, udp(internet));
  t.true(renewed.flow.isRenewed);
  t.false(repeats(tables, renewed, udp(internet)), 'the rules have just changed');
  rulesFor(tables.filter)('0', [rule('1', 'drop', internet.destination)]);
  const refused = following(tables, udp(internet), udp(internet));
  t.is(refused.reason, reasons.rule_drop);
  t.false(repeats(tables, refused, udp(internet)), 'it is refused');
});

test('a verdict repeats until the limit of the peer is reached', (t) => {
  const tables = new Tables();
  tables.limits.begin(1_000);
  tables.limits.set(0, null, 1_000);
  const verdict = following(tables, udp(internet), udp(internet));
  t.true(repeats(tables, verdict, udp(internet)));
  tables.limits.take(0, UP, 1_000_000);
  t.false(repeats(tables, verdict, udp(internet)));
});
