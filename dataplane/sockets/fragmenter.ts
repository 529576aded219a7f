// Cuts a datagram for a device into fragments of the size that the device takes (RFC 791, 3.2; RFC
// 8200, 4.5). Where the batch has no room for all of them, the others wait for the next one.

import { Ends } from '../tcp/table.ts';
import { FRAGMENT_BYTES, ipBytes, turnIntoFragment, writeIp } from './headers.ts';
import type { Outbox } from './outbox.ts';

const BYTES_MAX = 65_535;

/** The datagram that is cut. */
export class Fragmenter {
  /** The upper layer of the datagram, with its header. */
  readonly bytes = Buffer.alloc(BYTES_MAX);
  readonly view = new DataView(this.bytes.buffer, this.bytes.byteOffset, BYTES_MAX);
  readonly #ends = new Ends();
  #protocol = 0;
  #length = 0;
  #at = 0;
  #size = 0;
  #identification: number;

  /** `identification`: where the numbers of datagrams begin. */
  constructor(identification: number) {
    this.#identification = identification | 0;
  }

  /** Whether fragments wait. */
  get isBusy(): boolean {
    return this.#at < this.#length;
  }

  /** Begins with the first `length` of `bytes`; the device takes packets of `mtu` bytes. */
  begin({ isIpv6, words }: Ends, protocol: number, length: number, mtu: number): void {
    const ends = this.#ends;
    ends.isIpv6 = isIpv6;
    for (let i = 0; i < 8; i++) ends.words[i] = words[i]!;
    this.#protocol = protocol;
    this.#length = length;
    this.#at = 0;
    this.#size = (mtu - this.#headerBytes) & ~7;
    this.#identification = (this.#identification + 1) | 0;
  }

  /** Drops what waits. */
  clear(): void {
    this.#at = this.#length;
  }

  get #headerBytes(): number {
    return ipBytes(this.#ends.isIpv6) + (this.#ends.isIpv6 ? FRAGMENT_BYTES : 0);
  }

  /** Writes fragments as long as there is room. */
  emit(outbox: Outbox): void {
    const headers = this.#headerBytes;
    const { isIpv6 } = this.#ends;
    while (this.isBusy && !outbox.isFull) {
      const { view, offset } = outbox;
      const payload = Math.min(this.#size, this.#length - this.#at);
      const hasMore = this.#at + payload < this.#length;
      writeIp(view, offset, this.#ends, this.#protocol, headers + payload);
      turnIntoFragment(view, offset, isIpv6, this.#identification, this.#at, hasMore);
      this.bytes.copy(outbox.bytes, offset + headers, this.#at, this.#at + payload);
      outbox.add(headers + payload);
      this.#at += payload;
    }
  }
}
