// Hosts that send so many bytes to whoever connects, in virtual time, in place of the sockets of a
// gateway that face the host.

import { constants } from 'node:os';
import {
  type HostRoute,
  type HostSockets,
  PIECE_ARENA,
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_OFFSET,
  PIECE_WORDS,
  SOCKET_CONNECTED,
  SOCKET_EVENT_ERROR,
  SOCKET_EVENT_FLAGS,
  SOCKET_EVENT_HANDLE,
  SOCKET_EVENT_WORDS,
  SOCKET_PIECES_MAX,
  SOCKET_READABLE,
  SOCKET_WRITABLE,
} from '../../../dataplane/socket-contract.ts';
import { byteAt } from './ends.ts';

const { EAGAIN, EBADF, EBADMSG, EOPNOTSUPP } = constants.errno;

interface Connected {
  flags: number;
  /** Bytes that the host has sent, and those that it will have sent so far. */
  sent: number;
  wanted: number;
}

/** The sockets. */
export class SendingHosts implements HostSockets {
  readonly descriptor = -1;
  readonly pieces = new Int32Array(SOCKET_PIECES_MAX * PIECE_WORDS);
  readonly events: Int32Array;
  readonly error = new Int32Array(8);
  readonly #arenas: readonly Uint8Array[];
  readonly #sockets = new Map<number, Connected>();
  #opened = 0;

  constructor(arenas: readonly Uint8Array[], eventsMax: number) {
    this.#arenas = arenas;
    this.events = new Int32Array(eventsMax * SOCKET_EVENT_WORDS);
  }

  send(_handle: number, _count: number): number {
    return -EOPNOTSUPP;
  }

  /** Lets each host send so many bytes more. */
  sendMore(bytes: number): void {
    for (const socket of this.#sockets.values()) {
      socket.wanted += bytes;
      socket.flags |= SOCKET_READABLE;
    }
  }

  get count(): number {
    return this.#sockets.size;
  }

  connectTcp(): number {
    const handle = (1 << 16) | this.#opened++;
    this.#sockets.set(handle, { flags: SOCKET_CONNECTED | SOCKET_WRITABLE, sent: 0, wanted: 0 });
    return handle;
  }

  takeEvents(): number {
    let count = 0;
    for (const [handle, socket] of this.#sockets) {
      if (socket.flags === 0) continue;
      const at = count++ * SOCKET_EVENT_WORDS;
      this.events[at + SOCKET_EVENT_HANDLE] = handle;
      this.events[at + SOCKET_EVENT_FLAGS] = socket.flags;
      this.events[at + SOCKET_EVENT_ERROR] = 0;
      socket.flags = 0;
    }
    return count;
  }

  read(handle: number, count: number): number {
    const socket = this.#sockets.get(handle)!;
    let got = 0;
    for (let i = 0; i < count && socket.sent < socket.wanted; i++) {
      const at = i * PIECE_WORDS;
      const bytes = this.#arenas[this.pieces[at + PIECE_ARENA]!]!;
      const length = Math.min(this.pieces[at + PIECE_LENGTH]!, socket.wanted - socket.sent);
      const offset = this.pieces[at + PIECE_OFFSET]!;
      for (let j = 0; j < length; j++) bytes[offset + j] = byteAt(socket.sent + j);
      socket.sent += length;
      got += length;
    }
    return got > 0 ? got : -EAGAIN;
  }

  write(_handle: number, count: number): number {
    let length = 0;
    for (let i = 0; i < count; i++) length += this.pieces[i * PIECE_WORDS + PIECE_LENGTH]!;
    return length;
  }

  end(): number {
    return 0;
  }

  setRoom(_handle: number, _direction: number, bytes: number): number {
    return bytes;
  }

  verify(count: number): void {
    for (let i = 0; i < count; i++) this.pieces[i * PIECE_WORDS + PIECE_ERROR] = EBADMSG;
  }

  closeSocket(handle: number): number {
    return this.#sockets.delete(handle) ? 0 : -EBADF;
  }

  resetSocket(handle: number): number {
    return this.closeSocket(handle);
  }

  routeTo(): HostRoute {
    return { kind: 'unicast', source: null };
  }

  close(): void {
    this.#sockets.clear();
  }

  // ---- what these hosts do not have ----

  connectUdp(): number {
    return -EOPNOTSUPP;
  }

  openEcho(): number {
    return -EOPNOTSUPP;
  }

  openPair(): number {
    return -EOPNOTSUPP;
  }

  receive(): number {
    return -EAGAIN;
  }

  sendFragmented(): number {
    return -EOPNOTSUPP;
  }

  takeError(): number {
    return 0;
  }

  pathMtu(): number {
    return -EOPNOTSUPP;
  }
}
