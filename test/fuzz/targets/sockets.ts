// The sockets that face the host, by the addon: whatever handles and pieces say, a call touches only
// the socket that it names and the memory of its arenas, and nothing stays open. Worth most with an
// addon that AddressSanitizer watches.

import { strict as assert } from 'node:assert';
import { type AddressInfo, createServer } from 'node:net';
import { constants } from 'node:os';
import { NativeHostSockets } from '../../../dataplane/io/host-sockets.ts';
import {
  type HostSockets,
  PIECE_ARENA,
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_OFFSET,
  PIECE_SEGMENT,
  PIECE_WORDS,
  SOCKET_EVENT_HANDLE,
  SOCKET_EVENT_WORDS,
} from '../../../dataplane/socket-contract.ts';
import { isUdpRight } from '../../../dataplane/sockets/upper.ts';
import { isRight } from '../../../dataplane/tcp/checksum.ts';
import { Ends, endsOf } from '../../../dataplane/tcp/table.ts';
import { InnerPacket, parseInner, PROTOCOL_TCP, WHOLE } from '../../../dataplane/wire/ip.ts';
import { addon } from '../../support/dataplane/native.ts';
import { counting, tcp, udp } from '../../support/dataplane/packets.ts';
import { ChoiceReader } from '../reader.ts';

const { EBADF, EFAULT } = constants.errno;
const LOOPBACK = Uint8Array.of(127, 0, 0, 1);
const CAPACITY = 6;
/** Bytes before and after the arenas, which nothing may touch. */
const GUARD_BYTES = 4_096;
const GUARD = 0xa5;
const ARENA_BYTES = 70_000;
/** Pieces that the input describes. */
const TOLD_MAX = 4;
const LENGTHS = [0, 1, 100, 1_360, 4_096, 65_536] as const;
const MOVES = ['read', 'write', 'receive', 'send'] as const;
const QUESTIONS = ['end', 'takeError', 'pathMtu', 'sendFragmented'] as const;
const CLOSES = ['closeSocket', 'resetSocket'] as const;

/** Packets whose checksums are right. */
const packets = [tcp, udp].flatMap((make) =>
  [
    ['10.0.0.2', '192.0.2.1'],
    ['fd00::2', '2001:db8::1'],
  ].flatMap(([source, destination]) =>
    [0, 33].map((bytes) =>
      make({ source: source!, destination: destination!, data: counting(bytes) }),
    ),
  ),
);

type Kind = 'tcp' | 'udp' | 'echo';

let port: number | null = null;

/** A port of this process that takes connections; the kernel answers without this thread. */
function listeningPort(): number {
  if (port !== null) return port;
  const server = createServer((socket) => socket.destroy())
    .listen(0)
    .unref();
  port = (server.address() as AddressInfo).port;
  return port;
}

/** Sockets with two arenas between guards, and what must be open. */
class Course {
  readonly sockets: HostSockets;
  readonly open = new Map<number, Kind>();
  readonly outcome = new Set<string>();
  /** Every handle that there was, and some that never were. */
  readonly #handles: number[] = [0, -1, 1, 0x10000, 2 ** 31 - 1];
  readonly #guarded = [0, 1].map(() => new Uint8Array(ARENA_BYTES + 2 * GUARD_BYTES).fill(GUARD));

  constructor() {
    const arenas = this.#guarded.map((bytes) =>
      bytes.subarray(GUARD_BYTES, GUARD_BYTES + ARENA_BYTES),
    );
    const options = { capacity: CAPACITY, interfaceName: null, arenas, eventsMax: 4 };
    this.sockets = new NativeHostSockets(addon!, options);
  }

  add(reader: ChoiceReader): void {
    const act = reader.byte();
    const { sockets } = this;
    const kind: Kind = act < 110 ? 'tcp' : act < 220 ? 'udp' : 'echo';
    const to = act % 2 === 0 ? listeningPort() : 9;
    const result =
      kind === 'tcp'
        ? sockets.connectTcp(LOOPBACK, to)
        : kind === 'udp'
          ? sockets.connectUdp(LOOPBACK, to)
          : sockets.openEcho(LOOPBACK);
    this.#note(kind, result > 0 ? 1 : result);
    if (result <= 0) return;
    assert(!this.open.has(result), 'a handle that is in use');
    this.open.set(result, kind);
    this.#handles.push(result);
    assert(this.open.size <= CAPACITY);
  }

  #choose(reader: ChoiceReader): number {
    const byte = reader.byte();
    if (byte < 10) return reader.integer() | 0;
    // Mostly one that is open.
    const open = [...this.open.keys()];
    const from = byte < 60 || open.length === 0 ? this.#handles : open;
    return from[byte % from.length]!;
  }

  move(reader: ChoiceReader): void {
    const name = MOVES[reader.byte() % MOVES.length]!;
    const handle = this.#choose(reader);
    const count = 1 + (reader.byte() % TOLD_MAX);
    let isValid = true;
    let hasEmpty = false;
    for (let i = 0; i < count; i++) {
      const [isInside, isEmpty] = this.#tell(i, reader);
      isValid &&= isInside;
      hasEmpty ||= isEmpty;
    }
    const result = this.sockets[name](handle, count);
    const isStream = name === 'read' || name === 'write';
    const kind = this.open.get(handle);
    if (kind === undefined || isStream !== (kind === 'tcp')) assert.equal(result, -EBADF);
    // A connection that has failed says so before anybody looks at the pieces.
    else if (!isValid || (isStream && hasEmpty)) assert(result === -EFAULT || name === 'write');
    else assert(result <= (isStream ? 2 * ARENA_BYTES * TOLD_MAX : count));
    this.#note(name, Math.sign(result) * Math.min(1, Math.abs(result)) || 0);
    if (result < 0) this.#note(name, result);
  }

  /** Describes a piece; whether it is inside of its arena, and whether it is empty. */
  #tell(i: number, reader: ChoiceReader): [boolean, boolean] {
    const isOdd = reader.byte() < 40;
    const arena = isOdd ? (reader.byte() % 5) - 1 : i % 2;
    const length = isOdd ? reader.integer() | 0 : LENGTHS[reader.byte() % LENGTHS.length]!;
    const offset = isOdd ? reader.integer() | 0 : reader.word() % (ARENA_BYTES - length + 1);
    const at = i * PIECE_WORDS;
    const { pieces } = this.sockets;
    pieces[at + PIECE_ARENA] = arena;
    pieces[at + PIECE_OFFSET] = offset;
    pieces[at + PIECE_LENGTH] = length;
    pieces[at + PIECE_SEGMENT] = reader.byte() < 128 ? 0 : reader.word() - 100;
    const isInside =
      arena >= 0 && arena < 2 && offset >= 0 && length >= 0 && offset + length <= ARENA_BYTES;
    return [isInside, length === 0];
  }

  /** Whatever the addon finds right, the code of the gateway finds right, too. */
  verify(reader: ChoiceReader): void {
    const [isTold] = this.#tell(0, reader);
    const { pieces } = this.sockets;
    const [arena, offset] = [pieces[PIECE_ARENA]!, pieces[PIECE_OFFSET]!];
    const bytes = this.#guarded[arena]?.subarray(GUARD_BYTES, GUARD_BYTES + ARENA_BYTES);
    if (isTold && bytes !== undefined) {
      const packet = packets[reader.byte() % packets.length]!;
      const length = Math.min(packet.length, ARENA_BYTES - offset);
      bytes.set(packet.subarray(0, length), offset);
      pieces[PIECE_LENGTH] = Math.max(0, length - (reader.byte() >> 7));
      for (let i = reader.byte() >> 5; i > 0; i--)
        bytes[offset + (reader.byte() % Math.max(1, length))] = reader.byte();
    }
    this.sockets.verify(1);
    const isFound = pieces[PIECE_ERROR] === 0;
    this.#note('verify', Number(isFound));
    if (!isFound) return;
    assert(isTold && bytes !== undefined, 'a piece outside of its arena');
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const inner = new InnerPacket();
    assert.equal(parseInner(view, offset, pieces[PIECE_LENGTH]!, inner), 0);
    assert.equal(inner.fragment, WHOLE);
    const ends = new Ends();
    endsOf(inner, ends);
    const upper = offset + inner.upperOffset;
    const isRightHere =
      inner.protocol === PROTOCOL_TCP
        ? isRight(view, offset, upper, inner.length - inner.upperOffset)
        : isUdpRight(view, upper, ends);
    assert(isRightHere, 'a checksum that is wrong');
  }

  ask(reader: ChoiceReader): void {
    const name = QUESTIONS[reader.byte() % QUESTIONS.length]!;
    if (name === 'sendFragmented') return this.#fragment(reader);
    const handle = this.#choose(reader);
    const result = this.sockets[name](handle);
    if (!this.open.has(handle)) assert.equal(result, -EBADF);
    this.#note(name, result < 0 ? result : 1);
  }

  /** Sends one datagram, which may be larger than any: 1 says that it left, 0 that it is lost. */
  #fragment(reader: ChoiceReader): void {
    const handle = this.#choose(reader);
    const [isInside] = this.#tell(0, reader);
    const { pieces } = this.sockets;
    const result = this.sockets.sendFragmented(handle);
    const kind = this.open.get(handle);
    if (kind === undefined || kind === 'tcp') assert.equal(result, -EBADF);
    else if (!isInside) assert.equal(result, -EFAULT);
    else assert.equal(result, pieces[PIECE_ERROR] === 0 ? 1 : 0);
    this.#note('sendFragmented', result);
  }

  end(reader: ChoiceReader): void {
    const name = CLOSES[reader.byte() % CLOSES.length]!;
    const handle = this.#choose(reader);
    const wasOpen = this.open.delete(handle);
    assert.equal(this.sockets[name](handle), wasOpen ? 0 : -EBADF);
  }

  look(): void {
    const count = this.sockets.takeEvents();
    for (let i = 0; i < count; i++)
      assert(this.open.has(this.sockets.events[i * SOCKET_EVENT_WORDS + SOCKET_EVENT_HANDLE]!));
    this.#note('events', count);
  }

  #note(what: string, result: number): void {
    this.outcome.add(`${what} ${result}`);
  }

  check(): void {
    assert.equal(this.sockets.count, this.open.size);
    for (const bytes of this.#guarded)
      for (const guard of [bytes.subarray(0, GUARD_BYTES), bytes.subarray(-GUARD_BYTES)])
        assert(
          guard.every((byte) => byte === GUARD),
          'a guard was written over',
        );
  }
}

/** Opens, moves, asks and closes as the input says. */
export function sockets(input: Uint8Array): string {
  if (addon === null) return '';
  const course = new Course();
  try {
    const reader = new ChoiceReader(input);
    for (let number = 0; !reader.isAtEnd && number < 500; number++) {
      const act = reader.byte();
      if (act < 60) course.add(reader);
      else if (act < 170) course.move(reader);
      else if (act < 200) course.ask(reader);
      else if (act < 220) course.end(reader);
      else if (act < 240) course.verify(reader);
      else course.look();
    }
    course.check();
  } finally {
    course.sockets.close();
  }
  return `${course.outcome.size} kinds of results`;
}
