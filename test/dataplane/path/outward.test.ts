// Packets from the TUN: what is refused, and by which name.

import test from 'ava';
import { MARK, MARK_TRUNCATED } from '../../../dataplane/contract.ts';
import { TO_NOBODY, TO_PEER, type Verdict } from '../../../dataplane/path/verdict.ts';
import { type ReasonName, reasonNames } from '../../../dataplane/reasons.ts';
import { counting, udp } from '../../support/dataplane/packets.ts';
import { gatewayAndClient } from '../../support/dataplane/simulation.ts';
import { asked, Tables } from '../../support/filter/verdicts.ts';
import { SECOND, connected, toClient } from '../../support/dataplane/pipeline-scenes.ts';

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
