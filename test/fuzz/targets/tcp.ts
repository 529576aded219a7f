// The machine of TCP under any segments and any calls of its owner: whatever a device sends, each
// byte that the owner gets is the one of its sequence number, and each that leaves is what the owner
// has sent; no segment is larger than the device takes or outside of its window; and when the device
// is removed, nothing is left.

import { strict as assert } from 'node:assert';
import type { TcpMachine } from '../../../dataplane/tcp/machine.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { readSegment, Segment } from '../../../dataplane/tcp/segment.ts';
import { flagsOf, tcp, viewOf } from '../../support/dataplane/packets.ts';
import { byteAt, bytesAt, cut, Idle, type Packet, Station } from '../../support/tcp/ends.ts';
import { ChoiceReader } from '../reader.ts';

const DEVICE = 1;
const ACTS_MAX = 400;
const PORTS = [1_000, 1_001, 1_002] as const;
const FLAGS = [
  'S',
  'A',
  'A',
  'A',
  'A',
  'PA',
  'FA',
  'F',
  'R',
  'RA',
  'SA',
  'SF',
  '',
  'SFRPA',
] as const;
const LENGTHS = [0, 0, 1, 100, 1_368, 1_368, 5_000, 40_000] as const;
const STEPS = [0, 1, 1_368, -1, 100, -1_368, 40_000, -40_000, 2 ** 31, 65_535] as const;
const WINDOWS = [0, 1, 1_000, 65_535] as const;
const WAITS_MS = [0, 1, 40, 200, 1_000, 60_000, 7_300_000] as const;
const MTUS = [576, 1_280, 1_420] as const;
const SYN = flagsOf('S');
/** What a device's windows are shifted by, but for that of its SYN. */
const SHIFT = 7;

/** What a device knows of a connection. */
interface Line {
  /** Its next number, and the one that it acknowledges. */
  next: number;
  acknowledged: number;
  /** The machine's first number; null before its SYN. */
  first: number | null;
  /** Beyond this number the machine may not send. */
  edge: number;
}

/** A byte of a device, by its sequence number. */
function byteOf(sequence: number): number {
  const number = sequence >>> 0;
  return (number * 7 + (number >>> 8) * 13 + (number >>> 16) * 29) & 0xff;
}

class Course extends Idle {
  readonly outcome = new Set<string>();
  readonly station = new Station(this, 1, { poolBytes: 4 * 1_048_576, connections: 32 });
  readonly #machine: TcpMachine = this.station.machine;
  readonly #lines = new Map<number, Line>();
  /** What became of each connection: where the next byte is, and how many were sent. */
  readonly #known = new Map<number, { next: number; sent: number }>();
  appetite = Number.POSITIVE_INFINITY;
  credit = 1 << 30;
  #now = 1_000;

  constructor() {
    super();
    this.#machine.begin(this.#now);
  }

  override allowance(): number {
    return this.credit;
  }

  override asked(connection: number): void {
    assert(!this.#known.has(connection), 'asked once');
    this.#known.set(connection, { next: 0, sent: 0 });
    this.outcome.add('asked');
  }

  override received(connection: number, bytes: Buffer, at: number, length: number): number {
    const known = this.#known.get(connection)!;
    const count = Math.min(length, this.appetite);
    for (let i = 0; i < count; i++)
      assert.equal(bytes[at + i], byteOf(known.next + i), 'a byte that was never sent');
    known.next = (known.next + count) | 0;
    this.outcome.add('received');
    return count;
  }

  override opened(connection: number): void {
    // Another SYN may have come since the owner was asked.
    this.#known.get(connection)!.next = (this.#machine.sequenceOf(connection) + 1) | 0;
    this.outcome.add('opened');
  }

  override finished(): void {
    this.outcome.add('finished');
  }

  override ended(connection: number, how: number): void {
    assert(this.#known.delete(connection), 'ended once');
    this.outcome.add(`ended ${how}`);
  }

  // ---- the device -------------------------------------------------------------------------------

  segment(reader: ChoiceReader): void {
    const choices = reader.byte();
    const port = PORTS[choices % PORTS.length]!;
    const line = this.#lineOf(port);
    const flags = FLAGS[(choices >> 4) % FLAGS.length]!;
    const odd = reader.byte();
    const sequence = (line.next + (odd < 100 ? 0 : STEPS[odd % STEPS.length]!)) | 0;
    const other = reader.byte();
    const step = other < 100 ? 0 : STEPS[other % STEPS.length]!;
    const acknowledgement = (line.acknowledged + step) | 0;
    const length = LENGTHS[reader.byte() % LENGTHS.length]!;
    const window = WINDOWS[reader.byte() % WINDOWS.length]!;
    // SYN has the first number.
    const text = sequence + Number(flags.includes('S'));
    const data = Uint8Array.from({ length }, (_, i) => byteOf(text + i));
    const packet = tcp({
      source: '10.0.0.2',
      destination: '192.0.2.1',
      sourcePort: port,
      destinationPort: 80,
      sequence: sequence >>> 0,
      acknowledgement: acknowledgement >>> 0,
      flags: flagsOf(flags),
      window,
      options: this.#optionsOf(reader, line, acknowledgement, flags.includes('S')),
      data,
    });
    const reach = (acknowledgement + (window << SHIFT)) | 0;
    // What acknowledges numbers that never were is not believed.
    const behind = (line.acknowledged - acknowledgement) | 0;
    const isBelieved = behind >= 0 && behind < 2 ** 30;
    if (isBelieved && ((reach - line.edge) | 0) > 0) line.edge = reach;
    this.station.receive(DEVICE, packet);
    const numbers = length + Number(flags.includes('S')) + Number(flags.includes('F'));
    if (odd < 100 && flags !== '') line.next = (sequence + numbers) | 0;
  }

  #lineOf(port: number): Line {
    const found = this.#lines.get(port);
    if (found !== undefined) return found;
    const line = { next: -20, acknowledged: 0, first: null, edge: 0 };
    this.#lines.set(port, line);
    return line;
  }

  #optionsOf(reader: ChoiceReader, line: Line, edge: number, isSyn: boolean): Uint8Array {
    const choices = reader.byte();
    const options: number[] = [];
    const word = (value: number): number[] => [value >>> 24, value >>> 16, value >>> 8, value];
    if (isSyn) options.push(2, 4, 5, 100, 4, 2, 3, 3, SHIFT, 0);
    if ((choices & 3) !== 0) options.push(1, 1, 8, 10, ...word(this.#now), ...word(line.edge & 3));
    if ((choices & 12) === 12 && !isSyn) {
      const from = (edge + STEPS[reader.byte() % STEPS.length]!) | 0;
      options.push(1, 1, 5, 10, ...word(from), ...word(from + 1_368));
    }
    // Options of any length, cut off or nonsense.
    if (choices > 240) options.push(...reader.slice(6));
    while (options.length % 4 !== 0) options.push(0);
    return Uint8Array.from(options.slice(0, 40));
  }

  // ---- the owner --------------------------------------------------------------------------------

  call(reader: ChoiceReader): void {
    const machine = this.#machine;
    const connections = [...this.#known.keys()];
    const connection = connections[reader.byte() % Math.max(1, connections.length)] ?? 7;
    const known = this.#known.get(connection);
    const act = reader.byte();
    if (act < 90) machine.accept(connection);
    else if (act < 170 && known !== undefined) {
      const length = 1 + reader.word();
      known.sent += machine.send(connection, bytesAt(known.sent, length, 1), 0, length);
    } else if (act < 190) machine.take(connection);
    else if (act < 205) machine.close(connection);
    else if (act < 215) this.appetite = [0, 100, Number.POSITIVE_INFINITY][act % 3]!;
    else if (act < 225) this.credit = act % 2 === 0 ? 0 : 1 << 30;
    else if (act < 230) this.#mtu(reader);
    else if (act < 235) this.#end(connection, () => machine.release(connection));
    else if (act < 240) this.#end(connection, () => machine.abort(connection));
    else if (act < 245) this.#end(connection, () => machine.forget(connection));
    else if (act < 250) this.#end(connection, () => machine.refuse(connection));
    else machine.removeDevice(DEVICE);
    machine.resume(DEVICE);
  }

  #mtu(reader: ChoiceReader): void {
    this.mtu = MTUS[reader.byte() % MTUS.length]!;
    this.#machine.mtuChanged(DEVICE);
  }

  /** After such a call the owner hears of the connection no more. */
  #end(connection: number, run: () => void): void {
    run();
    const isGone = this.#machine.stateOf(connection) === 0;
    if (isGone) this.#known.delete(connection);
  }

  wait(reader: ChoiceReader): void {
    this.#now += WAITS_MS[reader.byte() % WAITS_MS.length]!;
    this.#machine.begin(this.#now);
    this.#machine.expire();
  }

  // ---- what leaves ------------------------------------------------------------------------------

  drain(): void {
    for (let count = 0; ; count++) {
      assert(count < 5_000, 'packets without end');
      const packet = this.station.make();
      if (packet === null) return;
      this.#look(packet);
    }
  }

  #look(packet: Packet): void {
    assert.equal(packet.device, DEVICE);
    for (const bytes of cut(packet)) {
      assert(bytes.length <= this.mtu, 'a segment over the MTU');
      this.#lookAt(bytes);
    }
  }

  #lookAt(bytes: Buffer): void {
    const inner = new InnerPacket();
    assert.equal(parseInner(viewOf(bytes), 0, bytes.length, inner), 0);
    const segment = new Segment();
    assert(readSegment(viewOf(bytes), 0, inner, segment));
    const line = this.#lines.get(inner.destinationPort)!;
    const { sequence, flags, length, at } = segment;
    if ((flags & SYN) !== 0) {
      line.first = sequence;
      line.acknowledged = (sequence + 1) | 0;
      line.edge = (sequence + 1 + 65_535) | 0;
    }
    if (length === 0 || line.first === null) return;
    const end = (sequence + length) | 0;
    assert(((end - line.edge) | 0) <= 0, 'beyond the window');
    if (((end - line.acknowledged) | 0) > 0) line.acknowledged = end;
    this.outcome.add('text');
    const position = (sequence - line.first - 1) | 0;
    for (let i = 0; i < length; i += 97)
      assert.equal(bytes[at + i], byteAt(position + i, 1), 'a byte that the owner did not send');
  }

  /** Everything must go with its device. */
  finish(): void {
    const machine = this.#machine;
    machine.removeDevice(DEVICE);
    while (this.station.make() !== null);
    assert.equal(machine.connections, 0);
    assert.equal(machine.bufferedBytes, 0);
    assert.equal(machine.notes, 0);
    assert.equal(machine.connectingOf(DEVICE), 0);
  }
}

/** Segments, calls and pauses as the input says. */
export function tcpMachine(input: Uint8Array): string {
  const course = new Course();
  const reader = new ChoiceReader(input);
  for (let number = 0; number < ACTS_MAX && !reader.isAtEnd; number++) {
    const act = reader.byte();
    if (act < 140) course.segment(reader);
    else if (act < 225) course.call(reader);
    else course.wait(reader);
    course.drain();
  }
  course.finish();
  return [...course.outcome].toSorted().join();
}
