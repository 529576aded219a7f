// A UDP socket of the twin of the host's sockets, on node:dgram. Node neither tells the ICMP type
// of an error nor the MTU of a path: only a refused port is an ICMP message here.

import { createSocket, type Socket } from 'node:dgram';
import { constants } from 'node:os';
import {
  ORIGIN_ICMP,
  ORIGIN_ICMP6,
  ORIGIN_LOCAL,
  SOCKET_FAILED,
  SOCKET_READABLE,
} from '../socket-contract.ts';
import type { Report } from './twin-streams.ts';

const { EAGAIN, ECONNREFUSED, EIO } = constants.errno;
const QUEUE_DATAGRAMS = 256;
const QUEUE_ERRORS = 16;
/** Destination unreachable, port unreachable: RFC 792 and RFC 4443, 3.1. */
const PORT_UNREACHABLE = { type: 3, code: 3 };
const PORT_UNREACHABLE6 = { type: 1, code: 4 };

/** What went wrong, in the order of SOCKET_ERROR_ words. */
export type TwinError = readonly [
  error: number,
  origin: number,
  type: number,
  code: number,
  mtu: number,
];

/** One connected UDP socket. */
export class TwinDatagrams {
  readonly #socket: Socket;
  readonly #isIpv6: boolean;
  readonly #report: Report;
  readonly #received: Uint8Array[] = [];
  readonly #errors: TwinError[] = [];
  /** What was sent before the socket was connected. */
  #early: Uint8Array[] | null = [];
  #isClosed = false;

  /** `lose` is called for each datagram that has no room. */
  constructor(address: string, port: number, report: Report, lose: () => void) {
    this.#isIpv6 = address.includes(':');
    this.#report = report;
    this.#socket = createSocket({ type: this.#isIpv6 ? 'udp6' : 'udp4', ipv6Only: this.#isIpv6 });
    this.#socket.on('message', (bytes) => {
      if (this.#received.length < QUEUE_DATAGRAMS) this.#received.push(bytes);
      else lose();
      report(SOCKET_READABLE);
    });
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('connect', () => {
      const early = this.#early ?? [];
      this.#early = null;
      for (const bytes of early) this.#transmit(bytes);
    });
    this.#socket.connect(port, address);
  }

  #fail(error: NodeJS.ErrnoException): void {
    if (this.#isClosed || this.#errors.length === QUEUE_ERRORS) return;
    const code = -(error.errno ?? -EIO);
    const message = this.#isIpv6 ? PORT_UNREACHABLE6 : PORT_UNREACHABLE;
    const origin = this.#isIpv6 ? ORIGIN_ICMP6 : ORIGIN_ICMP;
    this.#errors.push(
      code === ECONNREFUSED
        ? [code, origin, message.type, message.code, 0]
        : [code, ORIGIN_LOCAL, 0, 0, 0],
    );
    this.#report(SOCKET_FAILED);
  }

  /** The oldest datagram that waits. */
  take(): Uint8Array | undefined {
    return this.#received.shift();
  }

  /** The oldest error that waits. */
  takeError(): TwinError | undefined {
    return this.#errors.shift();
  }

  /** Sends a datagram; 0, or -EAGAIN where there is no room. */
  send(bytes: Uint8Array): number {
    if (this.#early === null) {
      this.#transmit(bytes.slice());
      return 0;
    }
    if (this.#early.length === QUEUE_DATAGRAMS) return -EAGAIN;
    this.#early.push(bytes.slice());
    return 0;
  }

  #transmit(bytes: Uint8Array): void {
    this.#socket.send(bytes, (error) => {
      if (error !== null) this.#fail(error);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.close();
  }
}
