// Worlds of TCP in virtual time: machines on a link that loses, repeats, delays and reorders, with
// owners that send, take, close and abort as chance wants it. Every byte is compared. At some time
// the link heals; then everything must come to its end, and nothing may be left.

import { strict as assert } from 'node:assert';
import type { Owner } from '../../../dataplane/tcp/core.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';
import { byteAt, bytesAt, cut, Idle, type Packet, Station } from './ends.ts';
import { SlowTcp } from './slow-tcp.ts';

const DEVICE = 1;
const HEALS_AT_MS = 60_000;
/** The slowest owners take an hour. */
const END_MS = 86_400_000;
const TURNS_MAX = 400_000;
const SENDS_AT_ONCE = 5_000;

/** Numbers by chance, the same for each seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 0x9e37_79b9) | 0;
  }

  /** A number below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** True in one of so many cases. */
  oneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}

/** One direction of the link. */
interface Way {
  readonly delayMs: number;
  readonly jitterMs: number;
  readonly lostOneIn: number;
  readonly twiceOneIn: number;
  /** Runs arrive whole, as a gateway gets them, or cut. */
  readonly wholeOneIn: number;
}

/** What an owner wants of one connection. */
interface Plan {
  readonly bytes: number;
  readonly seed: number;
  /** Bytes that are taken in a turn of so many ms; 0 ms: all at once. */
  readonly appetite: number;
  readonly everyMs: number;
  readonly end: 'close' | 'abort' | 'release' | 'breakOff';
  readonly afterBytes: number;
}

/** One end of one connection. */
class End {
  readonly port: number;
  readonly plan: Plan;
  readonly peer: Plan;
  connection = 0;
  sent = 0;
  received = 0;
  hunger: number;
  isOpen = false;
  hasClosed = false;
  hasFinished = false;
  ending = -1;

  constructor(port: number, plan: Plan, peer: Plan) {
    this.port = port;
    this.plan = plan;
    this.peer = peer;
    this.hunger = plan.everyMs === 0 ? Number.POSITIVE_INFINITY : plan.appetite;
  }
}

/** An owner of a machine, and its ends. */
class Side extends Idle implements Owner {
  readonly station: Station;
  readonly ends: End[] = [];
  readonly #world: TcpWorld;
  /** By the slot's handle. */
  readonly byConnection = new Map<number, End>();

  constructor(world: TcpWorld, seed: number, mtu: number) {
    super();
    this.#world = world;
    this.mtu = mtu;
    this.station = new Station(this, seed, { poolBytes: 8 * 1_048_576 });
  }

  override asked(connection: number): void {
    const ends = new Ends();
    this.station.machine.describe(connection, ends);
    const port = ends.words[8]! & 0xffff;
    const end = this.ends.find((one) => one.connection === 0 && one.port === port);
    if (end === undefined) {
      // A SYN that comes after its connection has ended.
      this.station.machine.refuse(connection);
      return;
    }
    end.connection = connection;
    this.byConnection.set(connection, end);
    this.#world.later(this.#world.dice.below(50), () => this.station.machine.accept(connection));
  }

  override opened(connection: number): void {
    const end = this.byConnection.get(connection)!;
    assert(!end.isOpen, 'a connection opens once');
    end.isOpen = true;
    this.#world.later(0, () => this.push(end));
    if (end.plan.everyMs > 0) this.#feed(end);
  }

  #feed(end: End): void {
    this.#world.later(end.plan.everyMs, () => {
      if (end.ending !== -1 || end.hasFinished) return;
      end.hunger = end.plan.appetite;
      this.station.machine.take(end.connection);
      this.#feed(end);
    });
  }

  /** Sends as much as there is room for, and closes after the last byte. */
  push(end: End): void {
    const { machine } = this.station;
    const { plan } = end;
    if (end.ending !== -1 || end.hasClosed) return;
    while (end.sent < plan.bytes) {
      const wanted = Math.min(plan.bytes - end.sent, SENDS_AT_ONCE);
      const count = machine.send(end.connection, bytesAt(end.sent, wanted, plan.seed), 0, wanted);
      end.sent += count;
      if (count < wanted) return;
    }
    end.hasClosed = true;
    machine.close(end.connection);
  }

  override received(connection: number, bytes: Buffer, at: number, length: number): number {
    const end = this.byConnection.get(connection)!;
    assert(end.isOpen, 'bytes come after the opening');
    assert(!end.hasFinished, 'no byte comes after the end');
    const count = Math.min(length, end.hunger);
    for (let i = 0; i < count; i++)
      if (bytes[at + i] !== byteAt(end.received + i, end.peer.seed))
        assert.fail(`byte ${end.received + i} of ${end.peer.bytes} is wrong`);
    end.received += count;
    end.hunger -= count;
    this.#misbehave(end);
    return count;
  }

  #misbehave(end: End): void {
    const { plan } = end;
    if (plan.end === 'close' || end.received < plan.afterBytes || end.ending !== -1) return;
    end.ending = 9;
    this.#world.isClean = false;
    this.station.machine[plan.end](end.connection);
  }

  override finished(connection: number): void {
    const end = this.byConnection.get(connection)!;
    assert(!end.hasFinished, 'finished once');
    end.hasFinished = true;
  }

  override writable(connection: number): void {
    const end = this.byConnection.get(connection)!;
    this.#world.later(0, () => this.push(end));
  }

  override ended(connection: number, how: number): void {
    const end = this.byConnection.get(connection);
    if (end === undefined) return;
    assert.equal(end.ending, -1, 'a connection ends once');
    // All SYNs were lost.
    if (!end.isOpen) this.#world.isClean = false;
    end.ending = how;
  }
}

/** A world: a gateway, and a device that is a machine too, or the slow model. */
export class TcpWorld {
  readonly dice: Dice;
  now = 0;
  /** Nobody aborts or gives up: every byte must arrive. */
  isClean = true;
  packets = 0;
  bytes = 0;
  #events: { at: number; order: number; run: () => void }[] = [];
  #order = 0;
  readonly #up: Way;
  readonly #down: Way;
  readonly gateway: Side;

  constructor(seed: number) {
    this.dice = new Dice(seed);
    this.#up = this.#way();
    this.#down = this.#way();
    this.gateway = new Side(this, seed, this.dice.pick([576, 1_280, 1_420]));
  }

  #way(): Way {
    const { dice } = this;
    return {
      delayMs: dice.pick([0.1, 5, 25, 100]),
      jitterMs: dice.pick([0, 0, 1, 30]),
      lostOneIn: dice.pick([0, 0, 100, 20, 5]),
      twiceOneIn: dice.pick([0, 0, 50, 5]),
      wholeOneIn: dice.pick([0, 1, 3]),
    };
  }

  #plan(seed: number): Plan {
    const { dice } = this;
    const bytes = dice.pick([0, 1, 1_000, 30_000, 200_000]);
    return {
      bytes: dice.below(bytes + 1),
      seed,
      appetite: dice.pick([100, 3_000, 100_000]),
      everyMs: dice.pick([0, 0, 50, 2_000]),
      end: dice.pick(['close', 'close', 'close', 'close', 'abort', 'release', 'breakOff'] as const),
      afterBytes: dice.below(20_000),
    };
  }

  /** Runs something after so many ms. */
  later(ms: number, run: () => void): void {
    this.#events.push({ at: this.now + ms, order: this.#order++, run });
  }

  #carry(way: Way, bytes: Buffer, arrive: (bytes: Buffer) => void): void {
    const { dice } = this;
    const isBad = this.now < HEALS_AT_MS;
    if (isBad && way.lostOneIn > 0 && dice.oneIn(way.lostOneIn)) return;
    const jitter = isBad ? dice.next() * way.jitterMs : 0;
    this.later(way.delayMs + jitter, () => arrive(bytes));
    if (isBad && way.twiceOneIn > 0 && dice.oneIn(way.twiceOneIn))
      this.later(way.delayMs + dice.below(200), () => arrive(bytes));
  }

  #drain(side: Side, way: Way, arrive: (bytes: Buffer) => void): void {
    for (let packet = side.station.make(); packet !== null; packet = side.station.make()) {
      this.packets++;
      this.bytes += packet.bytes.length;
      for (const one of this.#pieces(packet, way)) {
        const isRun = one.length > side.mtu;
        assert(!isRun || packet.segmentBytes > 0, 'no segment is longer than the MTU');
        this.#carry(way, one, arrive);
      }
    }
  }

  #pieces(packet: Packet, way: Way): Buffer[] {
    const pieces = cut(packet);
    if (way.wholeOneIn > 0 && this.dice.oneIn(way.wholeOneIn)) return [packet.bytes];
    return pieces;
  }

  /** Two machines; the device opens the connections. */
  runMachines(): void {
    const { dice } = this;
    const device = new Side(this, dice.below(1_000), dice.pick([576, 1_280, 1_420]));
    const connections = 1 + dice.below(3);
    for (let i = 0; i < connections; i++) {
      const [up, down] = [this.#plan(2 * i), this.#plan(2 * i + 1)];
      this.later(dice.below(500), () => {
        const end = new End(5_000 + i, up, down);
        this.gateway.ends.push(new End(5_000 + i, down, up));
        device.ends.push(end);
        end.connection = device.station.machine.open(DEVICE, endsOf(5_000 + i));
        assert.notEqual(end.connection, 0);
        device.byConnection.set(end.connection, end);
      });
    }
    this.#run([this.gateway, device], () => {
      this.#drain(this.gateway, this.#down, (bytes) => device.station.receive(DEVICE, bytes));
      this.#drain(device, this.#up, (bytes) => this.gateway.station.receive(DEVICE, bytes));
    });
    for (const side of [this.gateway, device]) this.#mustBeOver(side);
  }

  /** The gateway's machine, and the slow model as the device. */
  runSlow(): void {
    const { dice } = this;
    const up = { ...this.#plan(0), bytes: dice.below(20_000) };
    const down = { ...this.#plan(1), bytes: dice.below(20_000) };
    this.gateway.ends.push(new End(5_000, down, up));
    const closesAt = dice.below(5_000);
    const slow = new SlowTcp({
      port: 5_000,
      iss: dice.below(2 ** 32),
      out: bytesAt(0, up.bytes, up.seed),
      // No multiple of it is the pause between two probes of a window.
      windowAt: (now) => (now % 7_000 < closesAt ? 0 : 3_000),
    });
    const arrive = (bytes: Buffer): void => {
      for (const packet of slow.receive(this.now, bytes)) this.#carry(this.#up, packet, toGateway);
    };
    const toGateway = (bytes: Buffer): void => void this.gateway.station.receive(DEVICE, bytes);
    const turn = (): void => {
      if (slow.deadline <= this.now)
        for (const packet of slow.tick(this.now)) this.#carry(this.#up, packet, toGateway);
      this.#drain(this.gateway, { ...this.#down, wholeOneIn: 0 }, arrive);
    };
    this.#run([this.gateway], turn, slow);
    this.#mustBeOver(this.gateway);
    const [end] = this.gateway.ends;
    slow.received.forEach((byte, i) => assert.equal(byte, byteAt(i, down.seed), `byte ${i}`));
    if (!this.isClean) return;
    assert.equal(slow.received.length, down.bytes);
    assert.equal(slow.state, 'closed');
    assert.equal(end!.received, up.bytes);
  }

  #run(sides: readonly Side[], turn: () => void, slow?: SlowTcp): void {
    for (let turns = 0; ; turns++) {
      assert(turns < TURNS_MAX, `not over after ${turns} turns, at ${this.now} ms`);
      const deadlines = sides.map((side) => side.station.machine.deadline);
      const next = Math.min(...deadlines, slow?.deadline ?? END_MS, this.#nextEvent());
      if (next >= END_MS) break;
      this.now = Math.max(this.now, next);
      for (const side of sides) side.station.machine.begin(this.now);
      this.#runEvents();
      for (const side of sides) side.station.machine.expire();
      turn();
    }
  }

  #nextEvent(): number {
    return this.#events.reduce((least, { at }) => Math.min(least, at), END_MS);
  }

  #runEvents(): void {
    const due = this.#events.filter(({ at }) => at <= this.now);
    if (due.length === 0) return;
    this.#events = this.#events.filter(({ at }) => at > this.now);
    due.sort((a, b) => a.at - b.at || a.order - b.order);
    for (const { run } of due) run();
  }

  #mustBeOver(side: Side): void {
    const { machine } = side.station;
    assert.equal(machine.connections, 0, 'no slot leaks');
    assert.equal(machine.bufferedBytes, 0, 'no buffer leaks');
    assert.equal(machine.notes, 0, 'no record and no range leaks');
    assert.equal(machine.connectingOf(DEVICE), 0);
    for (const end of side.ends) {
      assert(end.received <= end.peer.bytes);
      assert(end.connection === 0 || end.ending !== -1, 'each end is reported');
      if (!this.isClean) continue;
      assert.equal(end.received, end.peer.bytes, 'every byte arrives');
      assert(end.hasFinished, 'the end of the bytes is reported');
      assert.equal(end.ending, 0, 'a clean end');
    }
  }
}

/** The ends of a connection that the device opens. */
function endsOf(port: number): Ends {
  const ends = new Ends();
  ends.words.set([0x0a000002, 0, 0, 0, 0xc0000201]);
  ends.words[8] = (port << 16) | 80;
  return ends;
}
