// A TUN for the TypeScript twin: a file descriptor that the addon opened, non-blocking and without
// virtio_net_hdr, read by node:fs. Node cannot wait for such a descriptor, so the twin reads it
// again and again, also when nothing comes.

import { readSync, writeSync } from 'node:fs';

const PACKET_BYTES_MAX = 65_535;
/** EBADFD, EBADF, ENODEV: the interface was removed and will not come back. */
const GONE = new Set([-77, -9, -19]);

/** One TUN interface. */
export class TunFile {
  readonly #fd: number;
  readonly #buffer = new Uint8Array(PACKET_BYTES_MAX);
  readonly #onError: () => void;
  #isGone = false;

  constructor(fd: number, onError: () => void) {
    this.#fd = fd;
    this.#onError = onError;
  }

  /** True once the interface has vanished. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** The next packet, valid until the next call; null when there is none. */
  read(): Uint8Array | null {
    try {
      const length = readSync(this.#fd, this.#buffer);
      if (length > 0) return this.#buffer.subarray(0, length);
      // Zero bytes are read only when the interface has been removed.
      this.#onError();
      this.#isGone = true;
      return null;
    } catch (error) {
      const { code, errno = 0 } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return null;
      this.#onError();
      this.#isGone = GONE.has(errno);
      return null;
    }
  }

  /** Writes a packet; throws when the kernel does not take it. */
  write(packet: Uint8Array): void {
    writeSync(this.#fd, packet);
  }
}
