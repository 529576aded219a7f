// What a machine of TCP makes leaves as whole packets.

import test from 'ava';
import { MadePackets } from '../../../dataplane/memory/made-packets.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { isRight } from '../../../dataplane/tcp/checksum.ts';
import type { Owner } from '../../../dataplane/tcp/core.ts';
import { TcpMachine } from '../../../dataplane/tcp/machine.ts';
import { Ends, setEnds } from '../../../dataplane/tcp/table.ts';
import { InnerPacket, parseInner, PROTOCOL_TCP } from '../../../dataplane/wire/ip.ts';
import { address, viewOf } from '../../support/dataplane/packets.ts';
import { seededRandom } from '../../support/dataplane/simulation.ts';

const MTU = 1_280;
const owner: Owner = {
  mtuOf: () => MTU,
  allowance: () => MTU,
  asked: () => undefined,
  opened: () => undefined,
  received: () => 0,
  finished: () => undefined,
  writable: () => undefined,
  ended: () => undefined,
};

test('requests of both families leave with right checksums, each once', (t) => {
  const sizes = { devices: 1, connections: 8, records: 8, ranges: 8, poolBytes: 1_048_576 };
  const machine = new TcpMachine({ ...sizes, owner, random: seededRandom(1) });
  machine.begin(0);
  const made = new MadePackets(machine, MTU);
  const ends = new Ends();
  for (const [own, other] of [
    ['10.8.0.2', '192.0.2.7'],
    ['fd00::2', '2001:db8::7'],
  ] as const) {
    setEnds(ends, address(own), 4_000, address(other), 443);
    t.not(machine.open(0, ends), 0);
  }
  const packets: Uint8Array[] = [];
  made.sendAll((packet) => packets.push(packet));
  t.is(packets.length, 2);
  for (const packet of packets) {
    const [view, inner] = [viewOf(packet), new InnerPacket()];
    t.is(parseInner(view, 0, packet.length, inner), reasons.none);
    t.deepEqual(
      [inner.protocol, inner.sourcePort, inner.destinationPort],
      [PROTOCOL_TCP, 4_000, 443],
    );
    t.true(isRight(view, 0, inner.upperOffset, packet.length - inner.upperOffset));
  }
  made.sendAll(() => t.fail('it was sent already'));
});
