// A packet that leaves by a socket allocates no memory on the heap; a turn has a few numbers. The
// sockets are of this test and allocate nothing.

import { constants } from 'node:os';
import test from 'ava';
import {
  createDatagramBatch,
  createPacketBatch,
  DESCRIPTOR_WORDS,
  KEY,
  LENGTH,
  MARK,
  MARK_TUN,
  OFFSET,
} from '../../../dataplane/contract.ts';
import { SLOT_HEADROOM_BYTES } from '../../../dataplane/constants.ts';
import {
  type HostRoute,
  type HostSockets,
  PIECE_ERROR,
  PIECE_LENGTH,
  PIECE_WORDS,
  SOCKET_CONNECTED,
  SOCKET_EVENT_ERROR,
  SOCKET_EVENT_FLAGS,
  SOCKET_EVENT_HANDLE,
  SOCKET_PIECES_MAX,
  SOCKET_ERROR_WORDS,
} from '../../../dataplane/socket-contract.ts';
import { SocketEgress } from '../../../dataplane/sockets/egress.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { flagsOf, tcp, udp } from '../../support/dataplane/packets.ts';
import { seededRandom } from '../../support/dataplane/simulation.ts';

const { EAGAIN } = constants.errno;
const LAPTOP = '10.8.0.2';
const HOST = '192.0.2.7';
const STAMP = [1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0];
const TEXT = 1_368;
/** Segments of a turn, within the first window, and datagrams. */
const SEGMENTS = 32;
const DATAGRAMS = 128;
/** Bytes of heap for each packet; a number is 12 bytes. */
const MOST = 1;

/** Sockets that take everything, and bring nothing. */
class Still implements HostSockets {
  readonly descriptor = -1;
  readonly pieces = new Int32Array(SOCKET_PIECES_MAX * PIECE_WORDS);
  readonly events = new Int32Array(3 * 256);
  readonly error = new Int32Array(SOCKET_ERROR_WORDS);
  count = 0;
  /** Bytes of the connection. */
  taken = 0;
  #connection = 0;
  /** What is reported next of the connection. */
  #flags = 0;

  connectTcp(): number {
    this.#flags = SOCKET_CONNECTED;
    return (this.#connection = 0x1_0000 | this.count++);
  }
  connectUdp(): number {
    return 0x1_0000 | this.count++;
  }
  openEcho(): number {
    return -EAGAIN;
  }
  openPair(): number {
    return -EAGAIN;
  }
  setRoom(_handle: number, _direction: number, bytes: number): number {
    return bytes;
  }
  takeEvents(): number {
    if (this.#flags === 0) return 0;
    this.events[SOCKET_EVENT_HANDLE] = this.#connection;
    this.events[SOCKET_EVENT_FLAGS] = this.#flags;
    this.events[SOCKET_EVENT_ERROR] = 0;
    this.#flags = 0;
    return 1;
  }
  read(): number {
    return -EAGAIN;
  }
  write(): number {
    this.taken += this.pieces[PIECE_LENGTH]!;
    return this.pieces[PIECE_LENGTH]!;
  }
  end(): number {
    return 0;
  }
  receive(): number {
    return -EAGAIN;
  }
  send(_handle: number, count: number): number {
    for (let i = 0; i < count; i++) this.pieces[i * PIECE_WORDS + PIECE_ERROR] = 0;
    return count;
  }
  sendFragmented(): number {
    return 0;
  }

  takeError(): number {
    return 0;
  }
  pathMtu(): number {
    return 1_500;
  }
  verify(count: number): void {
    for (let i = 0; i < count; i++) this.pieces[i * PIECE_WORDS + PIECE_ERROR] = 0;
  }
  closeSocket(): number {
    return 0;
  }
  resetSocket(): number {
    return 0;
  }
  routeTo(): HostRoute {
    return { kind: 'unicast', source: null };
  }
  close(): void {
    // There is nothing to close.
  }
}

/** An egress, and packets of one device. */
class Line {
  readonly sockets = new Still();
  readonly #datagrams = createDatagramBatch();
  readonly #packets = createPacketBatch();
  readonly #egress = new SocketEgress({
    datagrams: this.#datagrams,
    packets: this.#packets,
    cuts: true,
    capacity: 64,
    devices: 16,
    ipv4: null,
    ipv6: null,
    random: seededRandom(1),
    openSockets: () => this.sockets,
  });
  now = 1_000;
  /** Numbers of the device. */
  sequence = 0;
  acknowledged = 0;

  constructor() {
    this.#egress.serve({
      mtuOf: () => 1_420,
      allowance: () => 1 << 30,
      sendRoom: () => Number.POSITIVE_INFINITY,
      refusalOf: () => 0,
      isGateway: () => false,
      mayArrive: () => true,
      arrived: () => undefined,
      drop: (reason) => {
        throw new Error(`refused: ${reason}`);
      },
    });
    this.#egress.begin(this.now);
  }

  /** Takes one packet so many times, after `change` of each. */
  take(packet: Uint8Array, count: number, change: (view: DataView, at: number) => void): void {
    const batch = this.#datagrams;
    for (let i = 0; i < count; i++) {
      const at = i * DESCRIPTOR_WORDS;
      const offset = SLOT_HEADROOM_BYTES + i * 2_048;
      batch.bytes.set(packet, offset);
      change(batch.view, offset);
      batch.descriptors[at + OFFSET] = offset;
      batch.descriptors[at + LENGTH] = packet.length;
      batch.descriptors[at + KEY] = 1;
      batch.descriptors[at + MARK] = MARK_TUN;
    }
    batch.count = count;
    this.#egress.begin(this.now);
    this.#egress.write(batch);
    batch.count = 0;
  }

  /** One turn. */
  turn(): void {
    const batch = this.#packets;
    this.#egress.begin(this.now);
    this.#egress.read(batch);
    // The first packet is the SYN-ACK.
    if (batch.count > 0 && this.acknowledged === 0)
      this.acknowledged = batch.view.getInt32(batch.descriptors[OFFSET]! + 24) + 1;
    batch.count = 0;
  }
}

function segment(flags: string, options: readonly number[], text = 0): Uint8Array {
  return tcp({
    source: LAPTOP,
    destination: HOST,
    destinationPort: 80,
    window: 65_535,
    flags: flagsOf(flags),
    options: new Uint8Array(options),
    data: new Uint8Array(text),
  });
}

/** The least of some runs, in bytes of heap for each packet of a turn. */
function least(packets: number, turn: () => void): number {
  let found = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 8 && found > MOST; run++)
    found = Math.min(found, bytesPerCall(turn, { calls: 10, rounds: 151 }) / packets);
  return found;
}

test('segments up allocate nothing', (t) => {
  const line = new Line();
  line.take(segment('S', [2, 4, 5, 100, 4, 2, 3, 3, 7, 0, 0, 0, ...STAMP]), 1, () => undefined);
  line.turn();
  line.turn();
  t.not(line.acknowledged, 0, 'the host has answered');
  line.sequence = 1;
  const packet = segment('A', STAMP, TEXT);
  const number = (view: DataView, at: number): void => {
    view.setInt32(at + 24, line.sequence);
    view.setInt32(at + 28, line.acknowledged);
    line.sequence = (line.sequence + TEXT) | 0;
  };
  const bytes = least(SEGMENTS, () => {
    line.now += 0.5;
    line.take(packet, SEGMENTS, number);
    line.turn();
  });
  t.log(`${bytes} bytes for each packet`);
  t.true(line.sockets.taken > 1_000_000, `${line.sockets.taken} bytes went to the host`);
  t.true(bytes <= MOST);
});

test('datagrams up allocate nothing', (t) => {
  const line = new Line();
  const packet = udp({ source: LAPTOP, destination: HOST, destinationPort: 9, data: 'x' });
  const bytes = least(DATAGRAMS, () => {
    line.now += 0.5;
    line.take(packet, DATAGRAMS, () => undefined);
    line.turn();
  });
  t.log(`${bytes} bytes for each packet`);
  t.is(line.sockets.count, 1);
  t.true(bytes <= MOST);
});
