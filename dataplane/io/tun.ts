// A TUN for the TypeScript twin: a file descriptor that the addon opened, non-blocking and without
// virtio_net_hdr, read by node:fs. Node cannot wait for such a descriptor, so an idle one is looked
// at a few hundred times a second.

import { readSync, writeSync } from 'node:fs';

const PACKET_BYTES_MAX = 65_535;

/** One TUN interface. */
export class TunFile {
  readonly #fd: number;
  readonly #buffer = new Uint8Array(PACKET_BYTES_MAX);
  readonly #onFault: () => void;

  constructor(fd: number, onFault: () => void) {
    this.#fd = fd;
    this.#onFault = onFault;
  }

  /** The next packet, valid until the next call; null when there is none. */
  read(): Uint8Array | null {
    try {
      return this.#buffer.subarray(0, readSync(this.#fd, this.#buffer));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') this.#onFault();
      return null;
    }
  }

  /** Writes a packet; throws when the kernel does not take it. */
  write(packet: Uint8Array): void {
    writeSync(this.#fd, packet);
  }
}
