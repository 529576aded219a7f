// The sockets that face the host, in the hands of a test: both implementations, pieces and events.

import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { NativeHostSockets } from '../../../dataplane/io/host-sockets.ts';
import { TwinHostSockets } from '../../../dataplane/io/twin-sockets.ts';
import {
  type HostSockets,
  type HostSocketsOptions,
  PIECE_ARENA,
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_OFFSET,
  PIECE_SEGMENT,
  PIECE_WORDS,
  SOCKET_CONNECTED,
  SOCKET_EVENT_ERROR,
  SOCKET_EVENT_FLAGS,
  SOCKET_EVENT_HANDLE,
  SOCKET_EVENT_WORDS,
  SOCKET_FAILED,
  SOCKET_LOST,
  SOCKET_PIECES_MAX,
} from '../../../dataplane/socket-contract.ts';
import { addon } from '../dataplane/native.ts';
import { address } from '../dataplane/packets.ts';

const ARENA_BYTES = SOCKET_PIECES_MAX * 65_536;
const PATIENCE_MS = 30_000;

/** Makes sockets of one kind. */
export type OpenSockets = (options: HostSocketsOptions) => HostSockets;

/** What a test may choose. */
export type BenchOptions = Partial<Omit<HostSocketsOptions, 'arenas'>>;

const native = addon;

/** Every implementation on this machine, by name. */
export const socketKinds: readonly (readonly [name: string, open: OpenSockets])[] = [
  ['the twin', (options) => new TwinHostSockets(options, () => undefined)],
  ...(native === null
    ? []
    : [
        [
          'native',
          (options: HostSocketsOptions) => new NativeHostSockets(native, options),
        ] as const,
      ]),
];

/** What has happened to a socket. */
interface Happened {
  flags: number;
  error: number;
}

/** Sockets with an arena, and what has happened to each. */
export class SocketBench {
  readonly sockets: HostSockets;
  readonly arena = new Uint8Array(ARENA_BYTES);
  readonly #happened = new Map<number, Happened>();

  constructor(
    open: OpenSockets,
    { capacity = 64, interfaceName = null, eventsMax = 64 }: BenchOptions = {},
  ) {
    this.sockets = open({ capacity, interfaceName, eventsMax, arenas: [this.arena] });
  }

  /** Closes everything when the test ends. */
  static for(t: ExecutionContext, open: OpenSockets, options?: BenchOptions): SocketBench {
    const bench = new SocketBench(open, options);
    t.teardown(() => bench.sockets.close());
    return bench;
  }

  // ---- pieces ----

  /** Describes piece `i`, in 64 KiB of the arena of its own. */
  room(i: number, length = 65_536, segment = 0): void {
    const at = i * PIECE_WORDS;
    const { pieces } = this.sockets;
    pieces[at + PIECE_ARENA] = 0;
    pieces[at + PIECE_OFFSET] = i * 65_536;
    pieces[at + PIECE_LENGTH] = length;
    pieces[at + PIECE_SEGMENT] = segment;
    pieces[at + PIECE_ERROR] = -1;
  }

  /** Puts bytes into piece `i`. */
  put(i: number, bytes: Uint8Array, segment = 0): void {
    this.room(i, bytes.length, segment);
    this.arena.set(bytes, i * 65_536);
  }

  /** A word of piece `i`. */
  word(i: number, word: number): number {
    return this.sockets.pieces[i * PIECE_WORDS + word]!;
  }

  /** The bytes of piece `i`. */
  content(i: number): Uint8Array {
    const offset = this.word(i, PIECE_OFFSET);
    return this.arena.slice(offset, offset + this.word(i, PIECE_LENGTH));
  }

  // ---- events ----

  /** What has happened to a socket until now. */
  look(handle: number): Happened {
    const { sockets } = this;
    for (let count = sockets.takeEvents(); count > 0; count = sockets.takeEvents())
      for (let i = 0; i < count; i++) this.#note(i * SOCKET_EVENT_WORDS);
    return this.#happened.get(handle) ?? { flags: 0, error: 0 };
  }

  #note(at: number): void {
    const { events } = this.sockets;
    const handle = events[at + SOCKET_EVENT_HANDLE]!;
    const before = this.#happened.get(handle);
    this.#happened.set(handle, {
      flags: events[at + SOCKET_EVENT_FLAGS]! | (before?.flags ?? 0),
      error: events[at + SOCKET_EVENT_ERROR]!,
    });
  }

  /** Waits until one of these flags is there, and takes them away; throws after its patience. */
  async until(handle: number, flags: number): Promise<Happened> {
    const found = await soon(() => {
      const happened = this.look(handle);
      return (happened.flags & flags) === 0 ? null : { ...happened };
    });
    this.#happened.set(handle, { flags: found.flags & ~flags, error: found.error });
    return found;
  }

  // ---- whole actions ----

  /** Connects to a port of an address; the handle, or -errno, now or later. */
  async connect(port: number, to = '127.0.0.1'): Promise<number> {
    const handle = this.sockets.connectTcp(address(to), port);
    if (handle < 0) return handle;
    const { error } = await this.until(handle, SOCKET_CONNECTED | SOCKET_FAILED);
    return error === 0 ? handle : -error;
  }

  /** Reads so many bytes, or to the end, or to the error. */
  async read(handle: number, most = Infinity): Promise<{ bytes: Uint8Array; result: number }> {
    const parts: Uint8Array[] = [];
    let length = 0;
    const result = await soon(() => {
      this.look(handle);
      for (;;) {
        this.room(0, Math.min(65_536, most - length));
        if (length === most) return 1;
        const got = this.sockets.read(handle, 1);
        if (got === -constants.errno.EAGAIN) return null;
        if (got <= 0) return { got };
        parts.push(this.arena.slice(0, got));
        length += got;
      }
    });
    return { bytes: Buffer.concat(parts), result: result === 1 ? 1 : result.got };
  }

  /** Writes all bytes, in pieces of a size. */
  async write(handle: number, bytes: Uint8Array, pieceBytes = 65_536): Promise<void> {
    let at = 0;
    await soon(() => {
      this.look(handle);
      while (at < bytes.length) {
        let count = 0;
        for (let from = at; from < bytes.length && count < 8; from += pieceBytes, count++)
          this.put(count, bytes.subarray(from, from + pieceBytes));
        const took = this.sockets.write(handle, count);
        if (took === -constants.errno.EAGAIN) return null;
        if (took < 0) throw new Error(`writing: ${-took}`);
        at += took;
      }
      return true;
    });
  }

  /** Receives one datagram or run. */
  async receive(handle: number, roomBytes = 65_536): Promise<Uint8Array> {
    return soon(() => {
      this.room(0, roomBytes);
      const got = this.sockets.receive(handle, 1);
      return got === 1 ? this.content(0) : null;
    });
  }

  /** Takes the next error of a UDP or echo socket. */
  async error(handle: number): Promise<number[]> {
    await soon(() => (this.sockets.takeError(handle) === 1 ? true : null));
    return [...this.sockets.error.subarray(0, SOCKET_LOST)];
  }
}

/** Asks again and again until there is an answer; throws after its patience. */
export async function soon<T>(ask: () => T | null): Promise<T> {
  const began = performance.now();
  for (;;) {
    const answer = ask();
    if (answer !== null) return answer;
    if (performance.now() - began > PATIENCE_MS) throw new Error('nothing has happened');
    await sleep(1);
  }
}

/** How many sockets of IPv4 some process has open to a port of 127.0.0.1. */
export function socketsTo(port: number): number {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return ['tcp', 'udp']
    .flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , to, , , , , , , inode]) => to === remote && inode !== '0').length;
}
