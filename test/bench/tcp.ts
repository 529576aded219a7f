// What a segment costs in the machine of TCP on its happy path: `node test/bench/tcp.ts`. Nothing is
// lost, the owner takes all at once. A device sends segments of 1,380 bytes, one by one and in runs,
// and gets runs of up to 64 KiB; acknowledgements come for every second segment. Prints nanoseconds
// of CPU for each segment, the median of nine rounds. V8 inlines as much as in a gateway.

import { readFileSync } from 'node:fs';
import { arch, cpus } from 'node:os';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { InnerPacket, parseInner } from '../../dataplane/wire/ip.ts';
import { LAUNCHER } from '../support/gateway/launcher.ts';
import { flagsOf, tcp, viewOf } from '../support/dataplane/packets.ts';
import { Idle, ROOM, Station } from '../support/tcp/ends.ts';
import { median } from './median.ts';

for (const [flag] of readFileSync(LAUNCHER, 'utf8').matchAll(/--max-inlined\S+/g))
  setFlagsFromString(flag);

const ROUNDS = 9;
const SEGMENTS = 400_000;
const MSS = 1_368;
/** IPv4, TCP and a timestamp. */
const HEADER_BYTES = 52;
const DEVICE = 1;
const STAMP = [1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0];

/** Counts bytes, and remembers the connection. */
class Sink extends Idle {
  connection = 0;
  bytes = 0;
  override asked(connection: number): void {
    this.connection = connection;
  }
  override received(_connection: number, _bytes: Buffer, _at: number, length: number): number {
    this.bytes += length;
    return length;
  }
}

/** A machine with one open connection, and a packet of its device that is used again and again. */
class Line {
  readonly sink = new Sink();
  readonly station = new Station(this.sink, 1, { poolBytes: 64 * 1_048_576 });
  readonly packet: Buffer;
  readonly view: DataView;
  readonly inner = new InnerPacket();
  readonly arena = Buffer.alloc(ROOM);
  readonly arenaView = viewOf(this.arena);
  now = 1_000;
  sequence = 1;
  /** Bytes of text that `drain` has seen. */
  sent = 0;

  constructor(text: number) {
    const { machine } = this.station;
    machine.begin(this.now);
    this.station.receive(
      DEVICE,
      segment(0, 'S', 0, [2, 4, 5, 100, 4, 2, 3, 3, 7, 0, 0, 0, ...STAMP]),
    );
    machine.accept(this.sink.connection);
    const answer = this.station.make()!;
    const acknowledgement = (answer.bytes.readUInt32BE(24) + 1) >>> 0;
    this.now += 10;
    machine.begin(this.now);
    this.station.receive(DEVICE, segment(1, 'A', acknowledgement, STAMP));
    this.packet = Buffer.from(segment(1, 'A', acknowledgement, STAMP, text));
    this.view = viewOf(this.packet);
    parseInner(this.view, 0, this.packet.length, this.inner);
  }

  /** Gives the packet to the machine, as it is now. */
  receive(): void {
    this.station.machine.receive(DEVICE, this.packet, this.view, 0, this.inner);
  }

  /** Makes what there is; returns how many segments with text. */
  drain(): number {
    const { machine } = this.station;
    let segments = 0;
    for (;;) {
      const length = machine.make(this.arena, this.arenaView, 0, ROOM);
      if (length === 0) return segments;
      const { segmentBytes, hasText } = machine.made;
      if (!hasText) continue;
      const text = length - HEADER_BYTES;
      this.sent += text;
      segments += segmentBytes === 0 ? 1 : Math.ceil(text / segmentBytes);
    }
  }
}

function segment(
  sequence: number,
  letters: string,
  acknowledgement: number,
  options: readonly number[],
  text = 0,
): Uint8Array {
  return tcp({
    source: '10.0.0.2',
    destination: '192.0.2.1',
    sequence,
    acknowledgement,
    flags: flagsOf(letters),
    window: 65_535,
    options: new Uint8Array(options),
    data: new Uint8Array(text),
  });
}

/** Nanoseconds of CPU for each segment of a round; `round` returns how many there were. */
function measure(round: () => number): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const began = process.cpuUsage();
    const segments = round();
    const { user, system } = process.cpuUsage(began);
    return ((user + system) * 1_000) / segments;
  });
  return median(rounds);
}

/** From the device: `perTurn` packets of `perPacket` segments, then one acknowledgement. */
function up(perPacket: number, perTurn: number): number {
  const line = new Line(perPacket * MSS);
  const { machine } = line.station;
  return measure(() => {
    const turns = SEGMENTS / perPacket / perTurn;
    for (let turn = 0; turn < turns; turn++) {
      line.now += 0.5;
      machine.begin(line.now);
      for (let i = 0; i < perTurn; i++) {
        line.view.setInt32(24, line.sequence);
        line.receive();
        line.sequence = (line.sequence + perPacket * MSS) | 0;
      }
      machine.expire();
      line.drain();
    }
    return SEGMENTS;
  });
}

/** To the device: the owner keeps the buffer full, an ACK comes for every `perAck` segments. */
function down(perAck: number): number {
  const line = new Line(0);
  const { machine } = line.station;
  const bytes = Buffer.alloc(65_536);
  let acknowledged = line.view.getUint32(28);
  const acknowledge = (count: number): void => {
    acknowledged = (acknowledged + count) >>> 0;
    line.sent -= count;
    line.view.setUint32(28, acknowledged);
    line.receive();
  };
  return measure(() => {
    let segments = 0;
    while (segments < SEGMENTS) {
      line.now += 0.5;
      machine.begin(line.now);
      while (machine.send(line.sink.connection, bytes, 0, bytes.length) === bytes.length);
      machine.expire();
      const made = line.drain();
      segments += made;
      while (line.sent >= perAck * MSS) acknowledge(perAck * MSS);
      if (made === 0 && line.sent > 0) acknowledge(line.sent);
    }
    return segments;
  });
}

const figures: readonly (readonly [name: string, ns: number])[] = [
  ['up, segments one by one, 32 in a turn', up(1, 32)],
  ['up, segments one by one, 2 in a turn', up(1, 2)],
  ['up, runs of 45 segments', up(45, 1)],
  ['down, an ACK for every second segment', down(2)],
  ['down, an ACK for 16 segments', down(16)],
];
process.stdout.write(`${arch()}, ${cpus()[0]?.model}, Node ${process.version}\n`);
for (const [name, ns] of figures)
  process.stdout.write(`${name.padEnd(42)} ${ns.toFixed(0).padStart(5)} ns/segment\n`);
