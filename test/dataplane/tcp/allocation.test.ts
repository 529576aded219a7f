// A segment allocates no memory on the heap, in or out; a turn has a few numbers.

import test from 'ava';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { flagsOf, tcp, viewOf } from '../../support/dataplane/packets.ts';
import { Idle, ROOM, Station } from '../../support/tcp/ends.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';

const STAMP = [1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0];
const TEXT = 1_368;
const SEGMENTS = 40;
/** Bytes of heap for each segment, each way; a number is 12 bytes. */
const MOST = 1;

function segment(flags: string, acknowledgement: number, options: number[], text = 0): Buffer {
  const ends = { source: '10.0.0.2', destination: '192.0.2.1', window: 65_535 };
  const sequence = flags === 'S' ? 0 : 1;
  const rest = { sequence, acknowledgement, flags: flagsOf(flags), data: new Uint8Array(text) };
  return Buffer.from(tcp({ ...ends, ...rest, options: new Uint8Array(options) }));
}

test('segments in both directions allocate nothing', (t) => {
  class Asked extends Idle {
    connection = 0;
    override asked(connection: number): void {
      this.connection = connection;
    }
  }
  const owner = new Asked();
  const station = new Station(owner, 1, { poolBytes: 64 * 1_048_576 });
  const { machine } = station;
  machine.begin(1_000);
  station.receive(1, segment('S', 0, [2, 4, 5, 100, 4, 2, 3, 3, 7, 0, 0, 0, ...STAMP]));
  machine.accept(owner.connection);
  let acknowledged = (station.make()!.bytes.readUInt32BE(24) + 1) | 0;
  machine.begin(1_010);
  station.receive(1, segment('A', acknowledged >>> 0, STAMP));
  const packet = segment('A', acknowledged >>> 0, STAMP, TEXT);
  const [view, inner] = [viewOf(packet), new InnerPacket()];
  parseInner(view, 0, packet.length, inner);
  const arena = Buffer.alloc(ROOM);
  const arenaView = viewOf(arena);
  const bytes = Buffer.alloc(TEXT);
  let [now, sequence] = [1_010, 1];
  const turn = (): void => {
    now += 0.5;
    machine.begin(now);
    for (let i = 0; i < SEGMENTS; i++) {
      view.setInt32(24, sequence);
      view.setInt32(28, acknowledged);
      machine.receive(1, packet, view, 0, inner);
      sequence = (sequence + TEXT) | 0;
      acknowledged = (acknowledged + machine.send(owner.connection, bytes, 0, TEXT)) | 0;
      while (machine.make(arena, arenaView, 0, ROOM) > 0);
    }
    machine.expire();
  };
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 8 && least > MOST; run++)
    least = Math.min(least, bytesPerCall(turn, { calls: 10, rounds: 151 }) / (2 * SEGMENTS));
  t.log(`${least} bytes for each segment`);
  t.true(least <= MOST);
});
