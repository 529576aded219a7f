// The packets that a machine of TCP makes, one segment each and complete, as a host sends them.

import { complete } from '../tcp/checksum.ts';
import type { TcpMachine } from '../tcp/machine.ts';
import { viewOf } from '../wire/packets.ts';

const IPV4_BYTES = 20;
const IPV6_BYTES = 40;

/** Takes packets from a machine. */
export class MadePackets {
  readonly #machine: TcpMachine;
  readonly #bytes: Buffer;
  readonly #view: DataView;

  /** `mtu`: the largest packet that the machine makes. */
  constructor(machine: TcpMachine, mtu: number) {
    this.#machine = machine;
    this.#bytes = Buffer.alloc(2 * mtu);
    this.#view = viewOf(this.#bytes);
  }

  /** Sends all that there is to send. */
  sendAll(send: (packet: Uint8Array) => void): void {
    for (;;) {
      const length = this.#machine.make(this.#bytes, this.#view, 0, 0);
      if (length === 0) return;
      const upper = this.#bytes[0]! >> 4 === 6 ? IPV6_BYTES : IPV4_BYTES;
      complete(this.#view, upper, length - upper);
      send(new Uint8Array(this.#bytes.subarray(0, length)));
    }
  }
}
