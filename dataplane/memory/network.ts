// A network in memory and in real time: one gateway, its clients, and hosts behind its TUN. Nothing
// on it takes time: whatever a packet causes, handshakes too, has happened when `run` returns. So
// it is known at once that a packet was refused, and by whom.

import { systemClock } from '../io/clock.ts';
import { systemRandom } from '../io/crypto.ts';
import type { Random } from '../noise/handshake.ts';
import { type Endpoint, formatAddress } from '../wire/address.ts';
import { destinationOf } from './packets.ts';
import type { Surroundings } from './surroundings.ts';

/** Timers of Node take no longer wait. */
const WAIT_MS_MAX = 2 ** 31 - 1;
/** Nothing that is right goes on for so many steps: two hosts answer each other's answers. */
const STEPS_MAX = 100_000;

/** Whoever sends and receives datagrams. */
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
}

/** A host behind the TUN. */
export interface LanHost {
  receive(packet: Uint8Array): void;
}

/** One gateway and all that it joins. */
export class MemoryNetwork implements Surroundings {
  readonly random: Random;
  readonly #clock = systemClock(null);
  readonly #participants = new Map<string, Participant>();
  readonly #hosts = new Map<string, LanHost>();
  #gateway: GatewayParticipant | null = null;
  readonly #steps: (() => void)[] = [];
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Packets from the TUN for which there is no host. */
  #unclaimed = 0;
  /** How far both clocks are ahead of those of this machine. */
  #skippedMs = 0;

  /** `random` is what its gateway and its clients draw keys and indices from. */
  constructor(random: Random = systemRandom) {
    this.random = random;
  }

  get now(): number {
    return this.#clock.now() + this.#skippedMs;
  }

  get wallMs(): number {
    return this.#clock.wall() + this.#skippedMs;
  }

  /** Lets time pass that nobody has to wait for. */
  skip(ms: number): void {
    this.#skippedMs += ms;
  }

  /** Packets that left the gateway for addresses at which nobody is. */
  get unclaimed(): number {
    return this.#unclaimed;
  }

  /** Refusals of the gateway by reason, since the beginning. */
  drops(): Readonly<Record<string, number>> {
    return this.#gateway?.drops() ?? {};
  }

  // ---- who is on it ----

  setGateway(gateway: GatewayParticipant): void {
    this.#gateway = gateway;
    this.join(gateway);
  }

  join(participant: Participant): void {
    this.#participants.set(keyOf(participant.endpoint), participant);
  }

  /** Nothing of it is heard any more, as if it had lost its network. */
  leave(participant: Participant): void {
    this.#participants.delete(keyOf(participant.endpoint));
  }

  /** Puts a host behind the TUN; `at` is as `formatAddress` writes it. */
  addHost(at: string, host: LanHost): void {
    if (this.#hosts.has(at)) throw new Error(`there is a host at ${at} already`);
    this.#hosts.set(at, host);
  }

  // ---- what moves on it ----

  /** A datagram, between the gateway and a client. */
  transmit(bytes: Uint8Array, from: Endpoint, to: Endpoint): void {
    this.#steps.push(() => this.#participants.get(keyOf(to))?.receive(bytes, from));
  }

  /** A packet that comes out at the TUN. */
  fromGateway(packet: Uint8Array): void {
    this.#steps.push(() => {
      const host = this.#hosts.get(formatAddress(destinationOf(packet)));
      if (host === undefined) this.#unclaimed += 1;
      else host.receive(packet);
    });
  }

  /** A packet of a host, for the TUN. */
  toGateway(packet: Uint8Array): void {
    this.#steps.push(() => this.#gateway?.send(packet));
  }

  /** Does some work on the network, and all that comes of it. */
  run(work: () => void): void {
    if (this.#isClosed) throw new Error('the gateway is closed');
    this.#steps.push(work);
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      this.#runSteps();
    } finally {
      this.#isRunning = false;
      this.#schedule();
    }
  }

  #runSteps(): void {
    for (let count = 0; ; count++) {
      const step = this.#steps.shift();
      if (step === undefined) {
        if (!this.#expire()) return;
      } else {
        step();
      }
      if (count < STEPS_MAX) continue;
      this.#steps.length = 0;
      throw new Error('packets go around in circles: does a host answer every answer?');
    }
  }

  /** Fires what is due; false when nothing was. */
  #expire(): boolean {
    const due = [...this.#participants.values()].filter((one) => one.nextTimeout() <= this.now);
    for (const participant of due) participant.expire();
    return due.length > 0;
  }

  // ---- time ----

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    let next = Number.POSITIVE_INFINITY;
    for (const participant of this.#participants.values())
      next = Math.min(next, participant.nextTimeout());
    if (next === Number.POSITIVE_INFINITY) return;
    const wait = Math.min(WAIT_MS_MAX, Math.max(1, Math.ceil(next - this.now)));
    // A test that has ended need not wait for the next keepalive.
    this.#timer = setTimeout(() => this.run(() => undefined), wait).unref();
  }

  /** Ends everything; what is under way is lost. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#steps.length = 0;
    this.#participants.clear();
    this.#hosts.clear();
  }
}

function keyOf({ address, port }: Endpoint): string {
  return `${address} ${port}`;
}
