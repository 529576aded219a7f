// Scripts: what a machine gets, and what it must do then, line by line, in virtual time.
//
//   < S 0(0) win 1000 <mss 1000>   a segment of the device: flags, sequence(bytes), window, options
//   < UA 1(5) ack 1 urg 3          one with an urgent pointer
//   > SA 0(0) ack 1                a packet of the machine; what is not written is not compared
//   = opened                       what the owner is called for
//   +200                           so many ms pass
//   accept, refuse, forget, send N, close, release, break, abort, take, remove, open: the owner
//                                  calls
//   appetite N                     the owner takes at most so many bytes from now on
//   leave                          the owner releases the connection as soon as it has taken bytes
//   credit N                       the allowance of the device
//   port N, again                  another port of the device; another connection begins
//
// Numbers count from the SYN of each side. A packet or a call that no line expects is an error.

import { strict as assert } from 'node:assert';
import type { MachineOptions } from '../../../dataplane/tcp/core.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { readSegment, Segment } from '../../../dataplane/tcp/segment.ts';
import { flagsOf, tcp, viewOf } from '../dataplane/packets.ts';
import { byteAt, bytesAt, Idle, Station } from './ends.ts';

/** The device's first number: its sequence passes 2^32 soon. */
const DEVICE_ISS = 0xffff_fff0;
const DEVICE = 1;
/** No connection waits for anything after so long. */
const NO_DEADLINE = Number.POSITIVE_INFINITY;

const HOW = ['closed', 'reset', 'silent', 'by the owner'];

/** Where a script differs from others. */
export interface Setting {
  readonly isIpv6?: boolean;
  readonly mtu?: number;
  readonly options?: Partial<MachineOptions>;
  readonly seed?: number;
}

class Recorder extends Idle {
  readonly events: string[] = [];
  connection = 0;
  appetite = Number.POSITIVE_INFINITY;
  credit = 1 << 30;
  taken = 0;
  /** Called after bytes were taken. */
  after: () => void = () => undefined;
  readonly #seed: number;

  constructor(seed: number) {
    super();
    this.#seed = seed;
  }

  override allowance(): number {
    return this.credit;
  }
  override asked(connection: number): void {
    this.connection = connection;
    this.events.push('asked');
  }
  override opened(): void {
    this.events.push('opened');
  }
  override received(_connection: number, bytes: Buffer, at: number, length: number): number {
    const count = Math.min(length, this.appetite);
    this.appetite -= count;
    for (let i = 0; i < count; i++)
      assert.equal(bytes[at + i], byteAt(this.taken + i, this.#seed), `byte ${this.taken + i}`);
    this.taken += count;
    if (count > 0) this.events.push(`took ${count}`);
    this.after();
    return count;
  }
  override finished(): void {
    this.events.push('finished');
  }
  override writable(): void {
    this.events.push('writable');
  }
  override ended(_connection: number, how: number): void {
    this.events.push(`ended ${HOW[how]}`);
  }
}

const SEGMENT =
  /^([SFRPAU.]+) (\d+)\((\d+)\)(?: ack (-?\d+))?(?: win (\d+))?(?: (?:cut|urg) (\d+))?(?: <([^>]*)>)?$/;

/** One run of a script. */
export class Script {
  readonly station: Station;
  readonly owner: Recorder;
  now = 1_000;
  /** The window of the last packet that was expected, as its field has it. */
  lastWindow = 0;
  readonly #setting: Setting;
  #iss: number | null = null;
  #stamp = 0;
  #sent = 0;
  readonly #out: Segment[] = [];
  readonly #cuts: number[] = [];
  #ports = { sourcePort: 5_000, destinationPort: 80 };

  constructor(setting: Setting = {}) {
    this.#setting = setting;
    this.owner = new Recorder(0);
    this.owner.mtu = setting.mtu ?? 1_420;
    this.station = new Station(this.owner, setting.seed ?? 1, setting.options);
    this.station.machine.begin(this.now);
  }

  /** Runs lines; an error names the line. */
  run(...lines: readonly string[]): this {
    for (const line of lines)
      try {
        this.#step(line.trim());
      } catch (error) {
        const { message } = error as Error;
        throw new Error(`at the line "${line}", ${this.now} ms: ${message}`, { cause: error });
      }
    return this;
  }

  /** Nothing is left that no line has expected. */
  end(): void {
    this.#mustBeQuiet();
  }

  /** The machine's first sequence number. */
  get iss(): number {
    return this.#iss ?? 0;
  }

  /** Whether the connection is gone with all that it had. */
  isGone(): boolean {
    const { machine } = this.station;
    return machine.connections === 0 && machine.bufferedBytes === 0 && machine.notes === 0;
  }

  #step(line: string): void {
    if (line.startsWith('>')) return this.#expectPacket(line.slice(2));
    if (line.startsWith('=')) {
      assert.equal(this.owner.events.shift(), line.slice(2));
      return;
    }
    this.#mustBeQuiet();
    if (line.startsWith('<')) this.#inject(line.slice(2));
    else if (line.startsWith('+')) this.#pass(Number(line.slice(1)));
    else this.#call(line);
    this.#drain();
  }

  #mustBeQuiet(): void {
    assert.deepEqual(this.owner.events, [], 'a call that no line expects');
    assert.deepEqual(
      this.#out.map((one) => this.#text(one)),
      [],
      'a packet that no line expects',
    );
  }

  #drain(): void {
    for (let packet = this.station.make(); packet !== null; packet = this.station.make()) {
      const inner = new InnerPacket();
      const view = viewOf(packet.bytes);
      parseInner(view, 0, packet.bytes.length, inner);
      const one = new Segment();
      assert(readSegment(view, 0, inner, one));
      if (this.#iss === null) this.#iss = one.sequence;
      if (one.hasTimestamp) this.#stamp = one.stamp;
      const place = (one.sequence - this.#iss - 1) | 0;
      for (let i = 0; i < one.length; i++)
        assert.equal(packet.bytes[one.at + i], byteAt(place + i), `byte ${place + i} sent`);
      assert(
        packet.segmentBytes > 0 || packet.bytes.length <= this.owner.mtu,
        'no segment is longer than the MTU',
      );
      this.#out.push(one);
      this.#cuts.push(packet.segmentBytes);
    }
  }

  #pass(ms: number): void {
    const { machine } = this.station;
    const end = this.now + ms;
    for (;;) {
      const { deadline } = machine;
      if (deadline === NO_DEADLINE || deadline > end) break;
      this.now = Math.max(this.now, deadline);
      machine.begin(this.now);
      machine.expire();
      this.#drain();
    }
    this.now = end;
    machine.begin(end);
    machine.expire();
  }

  #call(line: string): void {
    const { machine } = this.station;
    const { owner } = this;
    const [word, number = '0'] = line.split(' ');
    const count = Number(number);
    if (word === 'send') {
      const done = machine.send(owner.connection, bytesAt(this.#sent, count), 0, count);
      this.#sent += done;
      assert.equal(done, count, 'room for all bytes');
    } else if (word === 'appetite') owner.appetite = count;
    else if (word === 'credit') {
      owner.credit = count;
      if (count > 0) machine.resume(DEVICE);
    } else if (word === 'remove') machine.removeDevice(DEVICE);
    else if (word === 'leave') owner.after = () => machine.release(owner.connection);
    else if (word === 'open') this.#open();
    else if (word === 'port') this.#ports = { ...this.#ports, sourcePort: count };
    else if (word === 'again') {
      this.#iss = null;
      this.#sent = 0;
      owner.taken = 0;
    } else {
      const calls: Readonly<Record<string, (connection: number) => void>> = {
        accept: (connection) => machine.accept(connection),
        refuse: (connection) => machine.refuse(connection),
        forget: (connection) => machine.forget(connection),
        close: (connection) => machine.close(connection),
        release: (connection) => machine.release(connection),
        break: (connection) => machine.breakOff(connection),
        abort: (connection) => machine.abort(connection),
        take: (connection) => machine.take(connection),
      };
      const call = calls[word ?? ''];
      if (call === undefined) throw new Error(`${word} is no call`);
      call(owner.connection);
    }
  }

  #open(): void {
    const ends = new Ends();
    const { isIpv6 = false } = this.#setting;
    ends.isIpv6 = isIpv6;
    if (isIpv6) ends.words.set([0x20010db8, 0, 0, 1, 0x20010db8, 0, 0, 2]);
    else ends.words.set([0xc0000201, 0, 0, 0, 0x0a000002]);
    ends.words[8] = (80 << 16) | this.#ports.sourcePort;
    this.owner.connection = this.station.machine.open(DEVICE, ends);
  }

  #inject(text: string): void {
    const [, flags = '', sequence, length, ack, window, urgent, options = ''] = this.#parse(text);
    const { isIpv6 = false } = this.#setting;
    const from = (Number(sequence) + DEVICE_ISS) >>> 0;
    const hasAck = ack !== undefined;
    const packet = tcp({
      source: isIpv6 ? '2001:db8::2' : '10.0.0.2',
      destination: isIpv6 ? '2001:db8::1' : '192.0.2.1',
      ...this.#ports,
      flags: flagsOf(flags.replace('.', '')) | (hasAck ? 0x10 : 0),
      sequence: from,
      acknowledgement: hasAck ? (Number(ack) + (this.#iss ?? 0)) >>> 0 : 0,
      window: Number(window ?? 65_535),
      urgent: Number(urgent ?? 0),
      options: this.#options(options),
      data: bytesAt(Number(sequence) - 1, Number(length)),
    });
    this.station.receive(DEVICE, packet);
  }

  #parse(text: string): RegExpExecArray {
    const parts = SEGMENT.exec(text);
    if (parts === null) throw new Error(`${text} is no segment`);
    return parts;
  }

  #options(text: string): Uint8Array {
    const bytes = text
      .split(',')
      .filter((part) => part.trim() !== '')
      .flatMap((part) => this.#option(part.trim()));
    while (bytes.length % 4 !== 0) bytes.push(1);
    return new Uint8Array(bytes);
  }

  #option(text: string): number[] {
    const [kind, ...numbers] = text.split(' ');
    const words = (values: readonly number[]): number[] =>
      values.flatMap((value) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff));
    if (kind === 'mss') return [2, 4, Number(numbers[0]) >> 8, Number(numbers[0]) & 0xff];
    if (kind === 'wscale') return [3, 3, Number(numbers[0])];
    if (kind === 'sackOK') return [4, 2];
    if (kind === 'ts') {
      // The second number is how much older than the machine's last stamp the echo is.
      const echo = (this.#stamp - Number(numbers[1] ?? 0)) | 0;
      return [1, 1, 8, 10, ...words([Number(numbers[0]), echo])];
    }
    if (kind === 'sack') {
      const edges = numbers.map((number) => (Number(number) + (this.#iss ?? 0)) | 0);
      return [1, 1, 5, 2 + 4 * edges.length, ...words(edges)];
    }
    throw new Error(`${kind} is no option`);
  }

  #expectPacket(text: string): void {
    const [, flags, sequence, length, ack, window, cut, options] = this.#parse(text);
    const one = this.#out.shift();
    const segmentBytes = this.#cuts.shift();
    if (one === undefined) throw new Error('no packet was made');
    const made = this.#text(one);
    this.lastWindow = one.window;
    const wanted = `${flags} ${sequence}(${length})`;
    const [head = ''] = made.split(' ack ');
    assert.equal(head.split(' win ')[0], wanted, made);
    if (ack !== undefined) assert.equal((one.acknowledgement - DEVICE_ISS) | 0, Number(ack), made);
    if (window !== undefined) assert.equal(one.window, Number(window), made);
    if (cut !== undefined) assert.equal(segmentBytes, Number(cut), made);
    if (options !== undefined) assert.equal(this.#optionText(one), options, made);
  }

  #text(one: Segment): string {
    const letters = Object.entries({ S: 2, F: 1, R: 4, P: 8, A: 16 })
      .filter(([, bit]) => (one.flags & bit) !== 0)
      .map(([letter]) => letter)
      .join('');
    const sequence = (one.sequence - (this.#iss ?? 0)) >>> 0;
    const ack = (one.acknowledgement - DEVICE_ISS) | 0;
    const options = this.#optionText(one);
    return `${letters} ${sequence}(${one.length}) ack ${ack} win ${one.window} <${options}>`;
  }

  #optionText(one: Segment): string {
    const parts: string[] = [];
    if (one.mss > 0) parts.push(`mss ${one.mss}`);
    if (one.isSackPermitted) parts.push('sackOK');
    if (one.shift >= 0) parts.push(`wscale ${one.shift}`);
    if (one.hasTimestamp) parts.push(`ts ${one.echo}`);
    if (one.blockCount > 0) {
      const edges = [...one.blocks.subarray(0, 2 * one.blockCount)];
      parts.push(`sack ${edges.map((edge) => (edge - DEVICE_ISS) | 0).join(' ')}`);
    }
    return parts.join(', ');
  }
}

/** Runs a script from its beginning to its end. */
export function play(lines: readonly string[], setting: Setting = {}): Script {
  const script = new Script(setting).run(...lines);
  script.end();
  return script;
}

/** A connection without options is open. */
export const OPEN = [
  '< S 0(0) win 20000 <mss 1000>',
  '= asked',
  'accept',
  '> SA 0(0) ack 1',
  '< A 1(0) ack 1 win 20000',
  '= opened',
] as const;

/** A connection with timestamps, SACK and window scale is open; the round trip took 100 ms. */
export const OPEN_WITH_OPTIONS = [
  '< S 0(0) win 20000 <mss 1000, sackOK, ts 100, wscale 7>',
  '= asked',
  'accept',
  '> SA 0(0) ack 1 <mss 1380, sackOK, wscale 7, ts 100>',
  '+100',
  '< A 1(0) ack 1 win 2000 <ts 200>',
  '= opened',
] as const;
