// A TCP connection of the twin of the host's sockets, on node:net. Node reads ahead: what it has
// read waits here, at most some 64 KiB for each connection.

import { Socket } from 'node:net';
import { constants } from 'node:os';
import {
  SOCKET_CONNECTED,
  SOCKET_ENDED,
  SOCKET_FAILED,
  SOCKET_READABLE,
  SOCKET_WRITABLE,
} from '../socket-contract.ts';

const { EAGAIN, ECONNABORTED, ENOTCONN, EPIPE } = constants.errno;
const KEEPALIVE_MS = 120_000;
/** Bytes that may wait to be read, and to be sent. */
const WAITING_BYTES_MAX = 65_536;
/** A closed connection whose host does not read is reset after so long. */
const ENDING_MS = 60_000;

/** Reports an event: flags of SOCKET_, and errno with SOCKET_FAILED. */
export type Report = (flags: number, error?: number) => void;

/** One connection. */
export class TwinStream {
  readonly #socket = new Socket({ allowHalfOpen: true });
  readonly #report: Report;
  readonly #chunks: Uint8Array[] = [];
  #chunkBytes = 0;
  #isConnected = false;
  #hasEnded = false;
  #hasWritten = false;
  #waitsToWrite = false;
  #error = 0;

  constructor(address: string, port: number, report: Report) {
    this.#report = report;
    const socket = this.#socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEPALIVE_MS);
    socket.on('connect', () => {
      this.#isConnected = true;
      report(SOCKET_CONNECTED | SOCKET_WRITABLE);
    });
    socket.on('readable', () => {
      this.#take();
      if (this.#chunkBytes > 0) report(SOCKET_READABLE);
    });
    socket.on('end', () => {
      this.#hasEnded = true;
      report(SOCKET_READABLE | SOCKET_ENDED);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#error = -(error.errno ?? -ECONNABORTED);
      report(SOCKET_FAILED, this.#error);
    });
    socket.connect({ host: address, port });
  }

  /** Takes what Node has read, because an error would drop it. */
  #take(): void {
    while (this.#chunkBytes < WAITING_BYTES_MAX) {
      const chunk = this.#socket.read() as Uint8Array | null;
      if (chunk === null) break;
      this.#chunks.push(chunk);
      this.#chunkBytes += chunk.length;
    }
  }

  /** Fills rooms one after the other; returns the bytes, 0 at the end, or -errno. */
  read(rooms: readonly Uint8Array[]): number {
    let bytes = 0;
    for (const room of rooms) {
      const filled = this.#fill(room);
      bytes += filled;
      if (filled < room.length) break;
    }
    if (bytes > 0) return bytes;
    if (this.#error !== 0) return -this.#error;
    return this.#hasEnded ? 0 : -EAGAIN;
  }

  #fill(room: Uint8Array): number {
    let filled = 0;
    while (filled < room.length) {
      if (this.#chunkBytes === 0) this.#take();
      const chunk = this.#chunks[0];
      if (chunk === undefined) break;
      const part = chunk.subarray(0, room.length - filled);
      room.set(part, filled);
      filled += part.length;
      this.#chunkBytes -= part.length;
      if (part.length === chunk.length) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(part.length);
    }
    return filled;
  }

  /** Takes bytes as far as there is room; returns how many, or -errno. */
  write(parts: readonly Uint8Array[]): number {
    if (this.#error !== 0) return -this.#error;
    if (this.#hasWritten) return -EPIPE;
    const room = this.#isConnected ? WAITING_BYTES_MAX - this.#socket.writableLength : 0;
    const bytes = Buffer.concat(parts, Math.min(room, byteLength(parts)));
    this.#waitsToWrite ||= bytes.length < byteLength(parts);
    if (bytes.length === 0) return -EAGAIN;
    this.#socket.write(bytes, () => {
      if (!this.#waitsToWrite || this.#error !== 0) return;
      this.#waitsToWrite = false;
      this.#report(SOCKET_WRITABLE);
    });
    return bytes.length;
  }

  /** Ends the half that writes. */
  end(): number {
    if (!this.#isConnected) return -ENOTCONN;
    this.#hasWritten = true;
    this.#socket.end();
    return 0;
  }

  /**
   * Closes it. Unless it is reset, the host still gets what was taken, if it reads it in time.
   * `closed` is called in the end.
   */
  close(resets: boolean, closed: () => void = () => undefined): void {
    this.#socket.once('close', closed);
    if (!this.#isConnected) this.#socket.destroy();
    else if (resets) this.#reset();
    else {
      this.#socket.destroySoon();
      this.endWithin(ENDING_MS);
    }
  }

  /**
   * Resets what is closed and has not ended after so many ms. A write that waits keeps a process
   * alive, though its socket does not.
   */
  endWithin(ms: number): void {
    this.#socket.unref();
    const late = setTimeout(() => this.#reset(), ms).unref();
    this.#socket.once('close', () => clearTimeout(late));
  }

  #reset(): void {
    const { writableEnded, writableFinished, writableLength } = this.#socket;
    // libuv refuses a reset while it shuts a socket down, and Node then never closes the handle.
    if (writableEnded && !writableFinished && writableLength === 0) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }
}

function byteLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
