// Writes packets for devices into the batch of packets, as if a TUN had brought them: each in a
// slot of its own, with a virtio_net_hdr before it. The native engine completes checksums and cuts
// runs; its twin does neither, so for it all is done here.

import { PACKET_SLOTS, SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../constants.ts';
import { type Batch, DESCRIPTOR_WORDS, LENGTH, MARK, MARK_DROP, OFFSET } from '../contract.ts';
import type { TcpMachine } from '../tcp/machine.ts';
import { checksum } from '../wire/checksum.ts';
import { PROTOCOL_TCP } from '../wire/ip.ts';
import {
  VIRTIO_HEADER_BYTES,
  writeNoVirtio,
  writePartialChecksum,
  writeRun,
} from '../wire/virtio.ts';
import { ipBytes } from './headers.ts';

/** The largest run that the engine cuts. */
const RUN_BYTES_MAX = 65_535;
const TCP_FIELD = 16;
const UDP_FIELD = 6;

/** Learns of each packet that was made for a device, and of how many datagrams it becomes. */
export interface Counting {
  made(device: number, length: number, datagrams: number): void;
}

/** The batch that is filled. */
export class Outbox {
  /** Whether the engine cuts runs and completes checksums. */
  readonly cuts: boolean;
  readonly #batch: Batch;
  /** So many packets the batch may have for now. */
  most = PACKET_SLOTS;
  readonly bytes: Buffer;
  readonly view: DataView;

  constructor(batch: Batch, cuts: boolean) {
    this.cuts = cuts;
    this.#batch = batch;
    this.bytes = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.length);
    this.view = batch.view;
  }

  /**
   * Takes the packets of a machine of TCP as long as there is room for them. `counting` learns of
   * each.
   */
  fill(
    machine: Pick<TcpMachine, 'hasPackets' | 'make' | 'made'>,
    counting: Counting | null = null,
  ): void {
    while (!this.isFull && machine.hasPackets) {
      const { bytes, view, offset } = this;
      const length = machine.make(bytes, view, offset, this.cuts ? RUN_BYTES_MAX : 0);
      if (length === 0) return;
      const isIpv6 = view.getUint8(offset) >> 4 === 6;
      const { device, segmentBytes } = machine.made;
      if (counting !== null) {
        const datagrams = segmentBytes === 0 ? 1 : Math.ceil(length / segmentBytes);
        counting.made(device, length, datagrams);
      }
      this.addPartial(length, isIpv6, PROTOCOL_TCP, segmentBytes);
    }
  }

  get isFull(): boolean {
    return this.#batch.count >= this.most;
  }

  /** Where the next packet is written. */
  get offset(): number {
    return this.#batch.count * SLOT_BYTES + SLOT_HEADROOM_BYTES;
  }

  /** Adds the packet of `length` bytes at `offset`, which is complete. */
  add(length: number): void {
    writeNoVirtio(this.view, this.offset - VIRTIO_HEADER_BYTES);
    this.#describe(length);
  }

  /**
   * Adds the TCP or UDP packet at `offset`, whose checksum covers the pseudo header. `segment`:
   * bytes of payload of each packet that it is cut into; 0: it is one.
   */
  addPartial(length: number, isIpv6: boolean, protocol: number, segment: number): void {
    const { view, offset } = this;
    const upper = ipBytes(isIpv6);
    const field = protocol === PROTOCOL_TCP ? TCP_FIELD : UDP_FIELD;
    if (!this.cuts) {
      const sum = checksum(view, offset + upper, length - upper, 0);
      // A UDP checksum of zero means that there is none.
      const written = sum === 0 && protocol !== PROTOCOL_TCP ? 0xffff : sum;
      view.setUint16(offset + upper + field, written);
      return this.add(length);
    }
    const virtio = offset - VIRTIO_HEADER_BYTES;
    if (segment === 0) writePartialChecksum(view, virtio, upper, field);
    else writeRun(view, virtio, isIpv6, protocol, upper, field, segment);
    this.#describe(length);
  }

  #describe(length: number): void {
    const { descriptors } = this.#batch;
    const { offset } = this;
    const at = this.#batch.count++ * DESCRIPTOR_WORDS;
    descriptors[at + OFFSET] = offset;
    descriptors[at + LENGTH] = length;
    descriptors[at + MARK] = MARK_DROP;
  }
}
