// A host in memory, with as much of IP as is needed to try rules. It pings, sends datagrams and
// opens TCP connections. It answers pings, datagrams and connections on any port with an echo,
// unless its owner gives other answers. A device is a host with a tunnel.

import { setTimeout as sleep } from 'node:timers/promises';
import { reasons } from '../reasons.ts';
import { formatAddress, parseAddress } from '../wire/address.ts';
import { ECHO_ANSWER, ECHO_QUESTION, echoPart, turnIntoEchoReply } from '../wire/icmp.ts';
import { InnerPacket, isIcmp, parseInner, PROTOCOL_TCP, PROTOCOL_UDP } from '../wire/ip.ts';
import type { MemoryNetwork } from './network.ts';
import { growth, NoAnswerError, type Refusals } from './no-answer.ts';
import { echoRequest, sourceOf, udp, viewOf } from '../wire/packets.ts';
import { type AnswerTo, type Connection, HostTcp, type OtherEnd } from './host-tcp.ts';

/** The first of the ports that a system chooses itself (RFC 6335). */
const FIRST_OWN_PORT = 49_152;
const PORT_MAX = 65_535;
/** How often something is sent at most. */
const ATTEMPTS_MAX = 4;

/** The sender of a packet to a host, and the port of the host. */
export interface Asker {
  readonly address: string;
  readonly port: number;
  /** The port of the host. */
  readonly at: number;
}

/** The answer of a host; null for none. */
export type Answer = Uint8Array | string | null;

/** How a host answers; what is left out is answered by an echo. */
export interface Answers {
  /** Answers a datagram. */
  readonly udp?: (data: Buffer, asker: Asker) => Answer;
  /** Answers the data of a TCP connection, segment by segment. */
  readonly tcp?: (data: Buffer, asker: Asker) => Answer;
  /** TCP ports that take connections; all, where it is left out. */
  readonly ports?: readonly number[];
}

/** Addresses of a host; null where it has none of the family. */
export interface Addresses {
  readonly ipv4: string | null;
  readonly ipv6: string | null;
}

/** A host on a network. */
export class MemoryHost {
  readonly #addresses: Addresses;
  readonly #network: MemoryNetwork;
  readonly #answers: Answers;
  readonly #packet = new InnerPacket();
  #tcp: HostTcp | null = null;
  /** By port: what is called with a datagram. */
  readonly #listening = new Map<number, (data: Buffer) => void>();
  /** By number of the ping: what is called at its reply. */
  readonly #pings = new Map<number, () => void>();
  #lastPort = FIRST_OWN_PORT - 1;
  #lastPing = 0;

  constructor(network: MemoryNetwork, { ipv4, ipv6 }: Addresses, answers: Answers = {}) {
    answers.ports?.forEach(refuseNoPort);
    this.#network = network;
    this.#answers = answers;
    this.#addresses = { ipv4, ipv6 };
  }

  /** Its IPv4 address; throws where it has none. */
  get ipv4(): string {
    return this.#addresses.ipv4 ?? this.#hasNone('IPv4');
  }

  /** Its IPv6 address; throws where it has none. */
  get ipv6(): string {
    return this.#addresses.ipv6 ?? this.#hasNone('IPv6');
  }

  #hasNone(family: string): never {
    const { ipv4, ipv6 } = this.#addresses;
    throw new Error(`${ipv4 ?? ipv6} has no ${family} address beside it`);
  }

  // ---- asking others ----

  /** Pings an address; resolves to the time that the reply took. */
  async ping(to: string): Promise<{ ms: number }> {
    const { source, destination } = this.#waysTo(to);
    const sequence = this.#lastPing++ & 0xffff;
    const beganAt = performance.now();
    let ms: number | null = null;
    this.#pings.set(sequence, () => (ms = performance.now() - beganAt));
    try {
      return await this.#ask(
        `the ping of ${destination} by ${source}`,
        destination,
        () => this.send(echoRequest(source, destination, sequence)),
        () => (ms === null ? null : { ms }),
      );
    } finally {
      this.#pings.delete(sequence);
    }
  }

  /** Sends a datagram; resolves to the data of its answer. */
  async udp(to: string, port: number, data: Uint8Array | string): Promise<Buffer> {
    refuseNoPort(port);
    const { source, destination } = this.#waysTo(to);
    const sourcePort = this.#takePort();
    let answer: Buffer | null = null;
    this.#listening.set(sourcePort, (received) => (answer = received));
    try {
      return await this.#ask(
        `the datagram for ${destination} port ${port} (UDP) from ${source}`,
        destination,
        () => this.send(udp({ source, destination, sourcePort, destinationPort: port, data })),
        () => answer,
      );
    } finally {
      this.#listening.delete(sourcePort);
    }
  }

  /** Opens a TCP connection; the caller closes it. */
  async connect(to: string, port: number): Promise<Connection> {
    refuseNoPort(port);
    const { source, destination } = this.#waysTo(to);
    return this.#ownTcp.connect(source, { address: destination, port, at: this.#takePort() });
  }

  /** Sends a packet to the network; devices send it through their tunnel. */
  send(packet: Uint8Array): void {
    this.#network.toGateway(packet);
  }

  /** What this host itself has refused, by reason. */
  protected ownRefusals(): Refusals {
    return {};
  }

  /** Prepares to send. */
  protected prepare(): void {
    // A host behind the TUN needs no preparation.
  }

  /**
   * Repairs what it can after something was not answered. Returns how many ms to wait before the
   * next try; null: another try is useless.
   */
  protected repair(_refusals: Refusals): number | null {
    return null;
  }

  async #ask<T>(what: string, to: string, send: () => void, answer: () => T | null): Promise<T> {
    const network = this.#network;
    for (let attempt = 1; ; attempt++) {
      const before = network.drops();
      const ownBefore = this.ownRefusals();
      const { unclaimed } = network;
      network.run(() => {
        this.prepare();
        send();
      });
      const answered = answer();
      if (answered !== null) return answered;
      const refusals = growth(before, network.drops());
      const waitMs = this.repair(refusals);
      if (waitMs === null || attempt === ATTEMPTS_MAX) {
        const ownRefusals = growth(ownBefore, this.ownRefusals());
        const isUnclaimed = network.unclaimed > unclaimed;
        throw new NoAnswerError(what, to, { refusals, ownRefusals, isUnclaimed });
      }
      await sleep(waitMs);
    }
  }

  /** The own address and another address, of one family. */
  #waysTo(to: string): { source: string; destination: string } {
    const bytes = parseAddress(to);
    if (bytes === null) throw new TypeError(`${to} is no IP address`);
    const source = this.#addresses[bytes.length === 4 ? 'ipv4' : 'ipv6'];
    if (source === null)
      throw new Error(
        `${to} is ${bytes.length === 4 ? 'IPv4' : 'IPv6'}, of which this host has no address`,
      );
    return { source, destination: formatAddress(bytes) };
  }

  #takePort(): number {
    this.#lastPort = this.#lastPort === PORT_MAX ? FIRST_OWN_PORT : this.#lastPort + 1;
    return this.#lastPort;
  }

  // ---- answering ----

  /** Takes a packet. */
  receive(packet: Uint8Array): void {
    const inner = this.#packet;
    const view = viewOf(packet);
    if (parseInner(view, 0, packet.length, inner) !== reasons.none) return;
    if (isIcmp(inner)) this.#receiveIcmp(packet, view);
    else if (inner.protocol === PROTOCOL_UDP) this.#receiveUdp(packet);
    else if (inner.protocol === PROTOCOL_TCP) this.#ownTcp.receive(packet, inner);
  }

  #receiveIcmp(packet: Uint8Array, view: DataView): void {
    const part = echoPart(view, 0, this.#packet);
    if (part === ECHO_ANSWER) this.#pings.get(view.getUint16(this.#packet.upperOffset + 6))?.();
    if (part !== ECHO_QUESTION) return;
    turnIntoEchoReply(view, 0, this.#packet);
    this.send(packet);
  }

  #receiveUdp(packet: Uint8Array): void {
    const { sourcePort, destinationPort, upperOffset } = this.#packet;
    const data = Buffer.from(packet.subarray(upperOffset + 8));
    const waiting = this.#listening.get(destinationPort);
    if (waiting !== undefined) return waiting(data);
    const address = formatAddress(sourceOf(packet));
    const asker = { address, port: sourcePort, at: destinationPort };
    const answer = (this.#answers.udp ?? echo)(data, asker);
    if (answer === null) return;
    const { source, destination } = this.#waysTo(address);
    const ports = { sourcePort: destinationPort, destinationPort: sourcePort };
    this.send(udp({ source, destination, ...ports, data: answer }));
  }

  get #ownTcp(): HostTcp {
    const network = this.#network;
    this.#tcp ??= new HostTcp({
      now: () => network.now,
      random: network.random,
      send: (packet) => this.send(packet),
      answerer: (end) => this.#answererTo(end),
      ask: async (what, to, send, isDone) => {
        await this.#ask(what, to, send, () => (isDone() ? true : null));
      },
    });
    return this.#tcp;
  }

  #answererTo(end: OtherEnd): AnswerTo | null {
    const { ports, tcp: answer = echo } = this.#answers;
    const takes = ports === undefined || ports.includes(end.at);
    return takes ? (data) => answer(data, end) : null;
  }
}

function echo(data: Buffer): Answer {
  return data;
}

/** A number that is too great would be cut to its last 16 bits, which are another port. */
function refuseNoPort(port: number): void {
  if (!Number.isInteger(port) || port < 1 || port > PORT_MAX)
    throw new TypeError(`${port} is no port, which is a whole number from 1 to ${PORT_MAX}`);
}
