// A network in memory, in real time: one gateway, its clients, and hosts behind its TUN. Nothing on
// it takes time: everything that a packet causes, handshakes included, has happened when `run`
// returns. So it is known at once that a packet was refused, and who refused it.

import type { Capture } from '../gateway/captures.ts';
import { systemClock } from '../io/clock.ts';
import { systemRandom } from '../io/crypto.ts';
import type { Spot } from '../io/twin-sockets.ts';
import type { Random } from '../noise/handshake.ts';
import { loadAddon } from '../native/index.ts';
import { type Primitives, portablePrimitives } from '../noise/primitives.ts';
import type { CaptureOrder } from '../path/capture.ts';
import { type Endpoint, formatAddress } from '../wire/address.ts';
import { destinationOf } from '../wire/packets.ts';
import { LateTimer } from './late-timer.ts';
import type { Surroundings } from './surroundings.ts';

/**
 * More steps than anything correct takes: two hosts that answer the answers of each other do not
 * end.
 */
const STEPS_MAX = 100_000;

/** Something that sends and receives datagrams. */
export interface Participant {
  readonly endpoint: Endpoint;
  receive(bytes: Uint8Array, from: Endpoint): void;
  nextTimeout(): number;
  expire(): void;
}

/** The gateway, which also has a TUN. */
export interface GatewayParticipant extends Participant {
  send(...packets: Uint8Array[]): void;
  drops(): Readonly<Record<string, number>>;
  capture(order: CaptureOrder): Promise<Capture | null>;
}

/** A host behind the TUN. */
export interface LanHost {
  receive(packet: Uint8Array): void;
}

/** One gateway, its clients and its hosts. */
export class MemoryNetwork implements Surroundings {
  readonly random: Random;
  /** Those of the addon where it is built, because they take a tenth of the time. */
  readonly primitives: Primitives = loadAddon().addon ?? portablePrimitives;
  readonly #clock = systemClock(null);
  readonly #participants = new Map<string, Participant>();
  readonly #hosts = new Map<string, LanHost>();
  #gateway: GatewayParticipant | null = null;
  readonly #steps: (() => void)[] = [];
  #isRunning = false;
  readonly #timer = new LateTimer(() => this.run(() => undefined));
  #isClosed = false;
  /** Packets from the TUN to addresses without a host. */
  #unclaimed = 0;
  /** How far both clocks are ahead of the clocks of this machine. */
  #skippedMs = 0;

  /** `random` makes the keys and indices of its gateway and its clients. */
  constructor(random: Random = systemRandom) {
    this.random = random;
  }

  get now(): number {
    return this.#clock.now() + this.#skippedMs;
  }

  get wallMs(): number {
    return this.#clock.wall() + this.#skippedMs;
  }

  /** Moves both clocks forward without waiting. */
  skip(ms: number): void {
    this.#skippedMs += ms;
  }

  /** Real servers, by the address that they have on this network. */
  readonly #servers = new Map<string, Spot>();
  readonly #endings: (() => void)[] = [];

  /** Puts a real server at an address, as `formatAddress` writes it; at each of its ports. */
  addServer(at: string, server: Spot): void {
    if (this.#servers.has(at) || this.#hosts.has(at))
      throw new Error(`there is a host at ${at} already`);
    this.#servers.set(at, server);
  }

  /** Whether a host in memory is at the destination of a packet. */
  hasHostFor(packet: Uint8Array): boolean {
    return this.#hosts.has(formatAddress(destinationOf(packet)));
  }

  /** Where a socket of the gateway is led; null: nobody is there. */
  lead({ address }: Spot): Spot | null {
    const server = this.#servers.get(address);
    if (server === undefined) this.#unclaimed += 1;
    return server ?? null;
  }

  /** Calls back when the network ends. */
  whenClosed(call: () => void): void {
    this.#endings.push(call);
  }

  /** How many packets left the gateway to addresses without a host. */
  get unclaimed(): number {
    return this.#unclaimed;
  }

  /** Refusals of the gateway by reason, since its start. */
  drops(): Readonly<Record<string, number>> {
    return this.#gateway?.drops() ?? {};
  }

  /** Captures packets of a device at the gateway; null: as many captures run as can. */
  async capture(order: CaptureOrder): Promise<Capture | null> {
    return this.#gateway?.capture(order) ?? null;
  }

  // ---- who is on it ----

  setGateway(gateway: GatewayParticipant): void {
    this.#gateway = gateway;
    this.join(gateway);
  }

  join(participant: Participant): void {
    this.#participants.set(keyOf(participant.endpoint), participant);
  }

  /** Removes a participant, as if it had lost its network. */
  leave(participant: Participant): void {
    this.#participants.delete(keyOf(participant.endpoint));
  }

  /** Adds a host behind the TUN; `at` is an address as `formatAddress` writes it. */
  addHost(at: string, host: LanHost): void {
    if (this.#hosts.has(at) || this.#servers.has(at))
      throw new Error(`there is a host at ${at} already`);
    this.#hosts.set(at, host);
  }

  // ---- what moves on it ----

  /** Carries a datagram between the gateway and a client. */
  transmit(bytes: Uint8Array, from: Endpoint, to: Endpoint): void {
    this.#steps.push(() => this.#participants.get(keyOf(to))?.receive(bytes, from));
  }

  /** Carries a packet from the TUN to a host. */
  fromGateway(packet: Uint8Array): void {
    this.#steps.push(() => {
      const host = this.#hosts.get(formatAddress(destinationOf(packet)));
      if (host === undefined) this.#unclaimed += 1;
      else host.receive(packet);
    });
  }

  /** Carries a packet of a host to the TUN. */
  toGateway(packet: Uint8Array): void {
    this.#steps.push(() => this.#gateway?.send(packet));
  }

  /** Does some work on the network, and then everything that it causes. */
  run(work: () => void): void {
    if (this.#isClosed) throw new Error('the gateway is closed');
    this.#steps.push(work);
    if (this.#isRunning) return;
    this.#isRunning = true;
    let next: number | null = null;
    try {
      next = this.#runSteps();
    } finally {
      this.#isRunning = false;
      if (!this.#isClosed) this.#timer.set((next ?? this.#nextTimeout()) - this.now);
    }
  }

  /** Does all steps, and fires all timers that are due; returns when the next one is. */
  #runSteps(): number {
    for (let count = 0; ; count++) {
      const step = this.#steps.shift();
      if (step === undefined) {
        const next = this.#nextTimeout();
        if (next > this.now) return next;
        this.#expire();
      } else {
        step();
      }
      if (count < STEPS_MAX) continue;
      this.#steps.length = 0;
      throw new Error('packets go around in circles: does a host answer every answer?');
    }
  }

  // ---- time ----

  #nextTimeout(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const participant of this.#participants.values())
      next = Math.min(next, participant.nextTimeout());
    return next;
  }

  #expire(): void {
    const due = [...this.#participants.values()].filter((one) => one.nextTimeout() <= this.now);
    for (const participant of due) participant.expire();
  }

  /** Ends everything; unfinished work is lost. */
  close(): void {
    this.#isClosed = true;
    this.#timer.clear();
    for (const end of this.#endings.splice(0)) end();
    this.#steps.length = 0;
    this.#participants.clear();
    this.#hosts.clear();
  }
}

function keyOf({ address, port }: Endpoint): string {
  return `${address} ${port}`;
}
