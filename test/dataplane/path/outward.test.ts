// Packets from the TUN: what is refused, and by which name.

import test from 'ava';
import { MARK, MARK_TRUNCATED } from '../../../dataplane/contract.ts';
import { TO_NOBODY, TO_PEER, type Verdict } from '../../../dataplane/path/verdict.ts';
import { type ReasonName, reasonNames } from '../../../dataplane/reasons.ts';
import { counting, flagsOf, tcp, udp } from '../../support/dataplane/packets.ts';
import { gatewayAndClient, rule } from '../../support/dataplane/simulation.ts';
import { asked, Tables } from '../../support/filter/verdicts.ts';
import {
  SECOND,
  connected,
  connectedClients,
  toClient,
} from '../../support/dataplane/pipeline-scenes.ts';

// ---- the way in and out ----------------------------------------------------------------------

const outward: readonly [title: string, bytes: Uint8Array, wanted: ReasonName][] = [
  [
    'a destination that nobody owns',
    udp({ source: '192.0.2.1', destination: '10.0.0.99' }),
    'no_peer',
  ],
  [
    'a destination outside the VPN',
    udp({ source: '10.0.0.1', destination: '192.0.2.1' }),
    'no_peer',
  ],
  [
    'an IPv6 destination that nobody owns',
    udp({ source: 'fd00::1', destination: 'fd00::99' }),
    'no_peer',
  ],
  ['a packet of another version', counting(60, 0x75), 'packet_malformed'],
  ['a packet too short for IPv4', counting(19, 0x45), 'packet_malformed'],
  ['a packet too short for IPv6', counting(39, 0x60), 'packet_malformed'],
  ['a client that was never heard', toClient, 'peer_no_endpoint'],
];

for (const [title, bytes, wanted] of outward) {
  test(`from the TUN: ${title}: ${wanted}`, (t) => {
    const { world, gateway } = gatewayAndClient();
    gateway.send(bytes);
    world.run(SECOND);
    t.deepEqual(gateway.drops(), { [wanted]: 1 });
    t.is(world.wire.length, 0);
  });
}

test('from the TUN: a packet that the kernel cut off: oversized', (t) => {
  const { world, gateway } = connected();
  gateway.engine.acceptPacket(toClient);
  gateway.engine.packets.descriptors[MARK] = MARK_TRUNCATED;
  gateway.pipeline.outbound(world.now, world.wallMs);
  t.deepEqual(gateway.drops(), { oversized: 1 });
});

const toDevice = { source: '192.0.2.1', destination: '10.0.0.3' };
const verdicts: readonly [title: string, bytes: Uint8Array, reason: ReasonName, place: number][] = [
  ['for a device', udp(toDevice), 'none', TO_PEER],
  ['for nobody', udp({ ...toDevice, destination: '10.0.0.9' }), 'no_peer', TO_NOBODY],
  [
    'in the name of a device',
    udp({ ...toDevice, source: '10.0.0.2' }),
    'packet_source_forged',
    TO_NOBODY,
  ],
  [
    'too big for its device',
    udp({ ...toDevice, data: counting(1_300) }),
    'packet_too_big',
    TO_NOBODY,
  ],
];

for (const [title, bytes, reason, place] of verdicts) {
  test(`a packet from the TUN ${title} has a verdict that changes nothing: ${reason}`, (t) => {
    const tables = new Tables();
    const ask = (wasCut: boolean): Verdict =>
      // Before each packet from the TUN is a header, here of zeros.
      asked(bytes, (view, offset, length, verdict) =>
        tables.outward.judge(view, offset, length, wasCut, verdict),
      );
    t.is(reasonNames[ask(false).reason], reason);
    t.is(ask(false).place, place);
    t.is(reasonNames[ask(true).reason], 'oversized');
    t.deepEqual(tables.state, [0, []]);
    tables.outward.isClosed = true;
    t.is(reasonNames[ask(false).reason], 'database_away');
  });
}

// ---- the end of a connection to the gateway ---------------------------------------------------

const ALL = { device: null, scope: null, destination: null, rule: null };

for (const [host, wanted] of [
  ['10.0.0.1', ['R', 'RA']],
  ['192.0.2.1', []],
] as const)
  test(`rules refuse a connection to ${host}: its RST alone passes if it is the gateway's`, (t) => {
    const { world, gateway, clients, peers } = connectedClients(1);
    const client = clients[0]!;
    const ends = { source: '10.0.0.2', destination: host, sourcePort: 4_000, destinationPort: 80 };
    const answer = {
      source: host,
      destination: '10.0.0.2',
      sourcePort: 80,
      destinationPort: 4_000,
    };
    client.send(tcp({ ...ends, flags: flagsOf('S') }));
    world.run(SECOND);
    gateway.send(tcp({ ...answer, flags: flagsOf('SA') }));
    world.run(SECOND);
    client.send(tcp({ ...ends, flags: flagsOf('A') }));
    world.run(SECOND);
    gateway.apply(peers, { owner: [rule('1', 'drop', host)] });
    const before = client.delivered.length;
    const sent = [
      tcp({ ...answer, flags: flagsOf('A'), data: 'more' }),
      tcp({ ...answer, flags: flagsOf('FA') }),
      tcp({ ...answer, flags: flagsOf('R'), data: 'hidden' }),
      tcp({ ...answer, flags: flagsOf('R') }),
      tcp({ ...answer, flags: flagsOf('RA') }),
    ];
    for (const packet of sent) {
      gateway.send(packet);
      world.run(SECOND);
    }
    const passed = client.delivered.slice(before);
    t.deepEqual(
      passed.map((packet) => Buffer.from(packet).toString('hex')),
      sent.slice(3, 3 + wanted.length).map((packet) => Buffer.from(packet).toString('hex')),
    );
    t.is(gateway.drops()['rule_drop'], 5 - wanted.length);
    const ended = gateway.workers.flatMap(({ pipeline }) => {
      const all = pipeline.pastFlows(ALL, Infinity, 9, world.now, world.wallMs).found;
      return all.map(({ because, by }) => `${because} by ${by}`);
    });
    t.deepEqual(ended, ['refused by rule']);
  });
