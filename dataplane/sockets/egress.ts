// Takes the packets of devices that a TUN would take, and makes those that it would bring: TCP, UDP
// and echo leave by sockets of the host. README.md follows a packet.

import { PACKET_SLOTS, SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../constants.ts';
import {
  type Batch,
  DESCRIPTOR_WORDS,
  KEY,
  LENGTH,
  MARK,
  MARK_DOOR,
  MARK_DROP,
  MARK_TUN,
  type NetworkConfig,
  OFFSET,
  type SampleSums,
  type TunSubstitute,
} from '../contract.ts';
import { reasons } from '../reasons.ts';
import {
  type HostSockets,
  PIECE_ERROR,
  PIECE_WORDS,
  SOCKET_PIECES_MAX,
  SOCKET_EVENT_ERROR,
  SOCKET_EVENT_FLAGS,
  SOCKET_EVENT_HANDLE,
  SOCKET_EVENT_WORDS,
  SOCKET_LOST,
} from '../socket-contract.ts';
import { InnerPacket, isIcmp, parseInner, PROTOCOL_TCP, PROTOCOL_UDP, WHOLE } from '../wire/ip.ts';
import { Connections } from './connections.ts';
import { TIME_EXCEEDED } from './errors.ts';
import { Flows } from './flows.ts';
import { isIpv4HeaderRight } from './headers.ts';
import { Inbox } from './inbox.ts';
import { JOINED_ARENA, Joiner } from './joiner.ts';
import { Outbox } from './outbox.ts';
import { type Around, ECHO, Shared, TCP, UDP } from './shared.ts';

/** Events that one call takes. */
export const EVENTS_MAX = 256;
/** Calls for events in one turn. */
const EVENT_ROUNDS = 8;
/** Connections of the machine: those that have ended keep their ends for a while. */
const CONNECTIONS_MAX = 65_535;
const POOL_BYTES = 64 * 1_048_576;
/** The part of a batch that flows may fill while connections have packets. */
const FLOW_PACKETS = PACKET_SLOTS / 2;

/** What an egress is made from. */
export interface EgressOptions {
  readonly datagrams: Batch;
  readonly packets: Batch;
  /** Whether the engine cuts runs and completes checksums. */
  readonly cuts: boolean;
  /** How many sockets there may be. */
  readonly capacity: number;
  /** How many of them may be of UDP; left out: all. */
  readonly ports?: number | undefined;
  /** Devices are numbers below this. */
  readonly devices: number;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly random: (bytes: Uint8Array) => void;
  /** Makes the sockets, for pieces in these arenas. */
  readonly openSockets: (arenas: readonly Uint8Array[], eventsMax: number) => HostSockets;
  /** Bytes that may wait, whole MiB; left out: 64 MiB. */
  readonly poolBytes?: number;
  /** How many connections the machine has room for; left out: as many as it can name. */
  readonly connections?: number;
}

/** What a sample shows. */
export interface EgressCounts {
  readonly sockets: number;
  readonly connections: number;
  readonly connecting: number;
  readonly udp: number;
  readonly echo: number;
  readonly retransmitted: number;
  readonly bufferedBytes: number;
}

interface Parts {
  readonly shared: Shared;
  readonly connections: Connections;
  readonly udp: Flows;
  readonly echo: Flows;
}

/** The sockets of a worker in place of its TUN. */
export class SocketEgress implements TunSubstitute {
  readonly sockets: HostSockets;
  /** By arena of the sockets: the pool, both batches, a joined datagram. */
  readonly #arenas: readonly Buffer[];
  readonly #options: EgressOptions;
  readonly #joiner = new Joiner();
  readonly #packet = new InnerPacket();
  /** PIECE_ERROR of the packets that were verified last. */
  readonly #verified = new Int32Array(SOCKET_PIECES_MAX);
  #parts: Parts | null = null;
  /** SOCKET_LOST, as far as it is counted. */
  #lost = 0;
  readonly #inboxes: readonly [Inbox, Inbox];

  constructor(options: EgressOptions) {
    this.#options = options;
    const { datagrams, packets, poolBytes = POOL_BYTES } = options;
    this.#inboxes = [new Inbox(UDP_INBOX), new Inbox(ECHO_INBOX)];
    const pool = Buffer.from(new ArrayBuffer(poolBytes));
    this.#arenas = [
      pool,
      ...[datagrams, packets].map(({ bytes }) =>
        Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
      ),
      this.#joiner.bytes,
    ];
    const all = [...this.#arenas, ...this.#inboxes.map(({ bytes }) => bytes)];
    this.sockets = options.openSockets(all, EVENTS_MAX);
  }

  /** Begins to work for a packet path. */
  serve(around: Around): void {
    const {
      packets,
      cuts,
      capacity,
      ports = capacity,
      devices,
      ipv4,
      ipv6,
      random,
      connections = CONNECTIONS_MAX,
    } = this.#options;
    const outbox = new Outbox(packets, cuts);
    const { sockets } = this;
    const shared = new Shared({ sockets, around, capacity, devices, ipv4, ipv6, outbox });
    const flows = Math.min(capacity, CONNECTIONS_MAX);
    const flow = { shared, capacity: flows, devices, random };
    const ofUdp = Math.max(1, Math.min(flows, ports));
    this.#parts = {
      shared,
      connections: new Connections({
        shared,
        devices,
        random,
        connections,
        pool: this.#arenas[0]!,
      }),
      udp: new Flows({ ...flow, capacity: ofUdp, kind: UDP, inbox: this.#inboxes[0] }),
      echo: new Flows({ ...flow, kind: ECHO, inbox: this.#inboxes[1] }),
    };
  }

  get #working(): Parts {
    if (this.#parts === null) throw new Error('the sockets serve no packet path');
    return this.#parts;
  }

  begin(now: number): void {
    const { shared, connections, udp, echo } = this.#working;
    shared.now = now;
    shared.errors.begin(now);
    connections.begin();
    udp.begin();
    echo.begin();
  }

  get deadline(): number {
    const { shared, connections, udp, echo } = this.#working;
    if (connections.hasMore || udp.hasMore || echo.hasMore || shared.errors.count > 0)
      return shared.now;
    return Math.min(connections.deadline, udp.deadline, echo.deadline);
  }

  // ---- from devices -----------------------------------------------------------------------------

  write(batch: Batch): void {
    const { datagrams, packets } = this.#options;
    if (batch === datagrams) this.#writeFrom(batch, DATAGRAMS_ARENA);
    else if (batch === packets) this.#writeFrom(batch, PACKETS_ARENA);
    else this.#writeCopies(batch);
  }

  /**
   * Takes packets from memory that is no arena of the sockets, as that of another worker: they are
   * copied to the batch of packets, as many at once as it has slots for.
   */
  #writeCopies({ bytes, descriptors, count }: Batch): void {
    const { packets } = this.#options;
    if (packets.count > 0) throw new Error('the batch of packets is in use');
    for (let i = 0; i < count; i++) {
      const from = i * DESCRIPTOR_WORDS;
      const mark = descriptors[from + MARK]!;
      if (!isForSockets(mark)) continue;
      descriptors[from + MARK] = MARK_DROP;
      const at = packets.count * DESCRIPTOR_WORDS;
      const offset = packets.count * SLOT_BYTES + SLOT_HEADROOM_BYTES;
      const start = descriptors[from + OFFSET]!;
      const length = descriptors[from + LENGTH]!;
      // A view of the packet would be allocated for each one.
      for (let k = 0; k < length; k++) packets.bytes[offset + k] = bytes[start + k]!;
      packets.descriptors[at + OFFSET] = offset;
      packets.descriptors[at + LENGTH] = length;
      packets.descriptors[at + KEY] = descriptors[from + KEY]!;
      packets.descriptors[at + MARK] = mark;
      packets.count++;
      if (packets.count === PACKET_SLOTS) this.#flushCopies();
    }
    if (packets.count > 0) this.#flushCopies();
  }

  #flushCopies(): void {
    const { packets } = this.#options;
    this.#writeFrom(packets, PACKETS_ARENA);
    packets.count = 0;
  }

  /** Takes the marked packets of a batch whose memory is an arena of the sockets. */
  #writeFrom(batch: Batch, arena: number): void {
    const { descriptors } = batch;
    const { shared, connections, udp, echo } = this.#working;
    for (let i = 0; i < batch.count; i++) {
      if (i % SOCKET_PIECES_MAX === 0) this.#verify(batch, arena, i);
      const at = i * DESCRIPTOR_WORDS;
      if (!isForSockets(descriptors[at + MARK]!)) continue;
      descriptors[at + MARK] = MARK_DROP;
      const device = descriptors[at + KEY]!;
      // What answers a packet of the LAN: there is nobody to send it to.
      if (device < 0) continue;
      shared.isVerified = this.#verified[i % SOCKET_PIECES_MAX] === 0;
      this.#take(device, arena, batch.view, descriptors[at + OFFSET]!, descriptors[at + LENGTH]!);
    }
    udp.flush();
    echo.flush();
    connections.flush();
  }

  /** Lets the sockets verify checksums of the packets from `first` on, many by one call. */
  #verify(batch: Batch, arena: number, first: number): void {
    const { descriptors } = batch;
    const { shared } = this.#working;
    const { pieces } = this.sockets;
    const count = Math.min(SOCKET_PIECES_MAX, batch.count - first);
    for (let i = 0; i < count; i++) {
      const at = (first + i) * DESCRIPTOR_WORDS;
      const isTaken = isForSockets(descriptors[at + MARK]!);
      const offset = isTaken ? descriptors[at + OFFSET]! : 0;
      shared.piece(i, arena, offset, isTaken ? descriptors[at + LENGTH]! : 0);
    }
    this.sockets.verify(count);
    // Whoever takes a packet writes pieces of its own.
    for (let i = 0; i < count; i++) this.#verified[i] = pieces[i * PIECE_WORDS + PIECE_ERROR]!;
  }

  #take(device: number, arena: number, view: DataView, offset: number, length: number): void {
    const packet = this.#packet;
    if (parseInner(view, offset, length, packet) !== reasons.none) return;
    if (packet.version === 4 && !isIpv4HeaderRight(view, offset))
      return this.#drop(reasons.inner_malformed);
    if (packet.fragment === WHOLE) return this.#takeWhole(device, arena, view, offset);
    const { udp, echo } = this.#working;
    const bytes = this.#arenas[arena]!;
    if (!this.#joiner.take(device, bytes, view, offset, packet)) return;
    this.#working.shared.isVerified = false;
    this.#takeWhole(device, JOINED_ARENA, this.#joiner.view, 0);
    // The next datagram is put together in the same place.
    udp.flush();
    echo.flush();
  }

  #takeWhole(device: number, arena: number, view: DataView, offset: number): void {
    const packet = this.#packet;
    const { shared, connections, udp, echo } = this.#working;
    if (packet.hopLimit <= 1)
      return shared.errors.aboutPacket(device, view, offset, packet, TIME_EXCEEDED);
    let reason: number = reasons.no_socket_for_protocol;
    if (packet.protocol === PROTOCOL_TCP)
      reason = connections.take(device, arena, this.#arenas[arena]!, view, offset, packet);
    else if (packet.protocol === PROTOCOL_UDP)
      reason = udp.take(device, arena, view, offset, packet);
    else if (isIcmp(packet)) reason = echo.take(device, arena, view, offset, packet);
    if (reason !== reasons.none) this.#drop(reason);
  }

  #drop(reason: number): void {
    this.#working.shared.around.drop(reason);
  }

  // ---- from hosts -------------------------------------------------------------------------------

  /** Takes what the sockets report, does what is due, and fills the batch. */
  read(_batch: Batch): void {
    const { shared, connections, udp, echo } = this.#working;
    this.#takeEvents();
    connections.expire();
    udp.expire();
    echo.expire();
    connections.connect();
    connections.flush();
    connections.read();
    const { outbox, errors } = shared;
    while (errors.count > 0 && !outbox.isFull) errors.make(outbox);
    outbox.most = FLOW_PACKETS;
    udp.read();
    echo.read();
    outbox.most = PACKET_SLOTS;
    connections.make();
    this.#countLost();
  }

  /** Counts the datagrams for which the sockets had no room. */
  #countLost(): void {
    const { error } = this.sockets;
    for (; this.#lost !== error[SOCKET_LOST]; this.#lost = (this.#lost + 1) | 0)
      this.#drop(reasons.egress_socket_full);
  }

  #takeEvents(): void {
    const { sockets } = this;
    const { events } = sockets;
    const { shared, connections, udp, echo } = this.#working;
    for (let round = 0; round < EVENT_ROUNDS; round++) {
      const count = sockets.takeEvents();
      for (let i = 0; i < count; i++) {
        const at = i * SOCKET_EVENT_WORDS;
        const handle = events[at + SOCKET_EVENT_HANDLE]!;
        const flags = events[at + SOCKET_EVENT_FLAGS]!;
        const slot = shared.slotOf(handle);
        switch (shared.kindOf(handle)) {
          case TCP:
            connections.event(slot, flags, events[at + SOCKET_EVENT_ERROR]!);
            break;
          case UDP:
            udp.event(slot, flags);
            break;
          case ECHO:
            echo.event(slot, flags);
            break;
          default:
          // It was closed meanwhile.
        }
      }
      if (count < EVENTS_MAX) return;
    }
  }

  // ---- changes ----------------------------------------------------------------------------------

  /** A device has other addresses, or another size of packets, from now on. */
  deviceChanged(device: number): void {
    const { shared, connections, udp, echo } = this.#working;
    shared.epoch++;
    connections.recheckDevice(device);
    udp.recheckDevice(device);
    echo.recheckDevice(device);
  }

  /** Rules have changed: whoever may not go on is closed, and nothing more reaches its host. */
  rulesChanged(): void {
    const { shared, connections, udp, echo } = this.#working;
    shared.epoch++;
    connections.recheck();
    udp.recheck();
    echo.recheck();
  }

  /** A device has a session: what waits for it goes on. */
  resume(device: number): void {
    this.#working.connections.resume(device);
  }

  /** A device is gone. */
  removeDevice(device: number): void {
    const { connections, udp, echo } = this.#working;
    connections.removeDevice(device);
    udp.removeDevice(device);
    echo.removeDevice(device);
  }

  get counts(): EgressCounts {
    const { shared, connections, udp, echo } = this.#working;
    return {
      sockets: shared.budgets.used,
      connections: connections.count,
      connecting: connections.connecting,
      udp: udp.count,
      echo: echo.count,
      retransmitted: connections.retransmitted,
      bufferedBytes: connections.bufferedBytes,
    };
  }

  /** The counts as a sample has them. */
  get sums(): Pick<SampleSums, 'sockets' | 'retransmits'> {
    const { sockets, udp, echo, connecting, bufferedBytes, retransmitted } = this.counts;
    const tcp = sockets - udp - echo;
    return {
      sockets: { tcp, udp, echo, connecting, buffered: bufferedBytes },
      retransmits: { segments: retransmitted },
    };
  }

  /** Closes all sockets; TCP connections end with RST. */
  close(): void {
    this.sockets.close();
  }
}

function isForSockets(mark: number): boolean {
  return mark === MARK_TUN || mark === MARK_DOOR;
}

const DATAGRAMS_ARENA = 1;
const PACKETS_ARENA = 2;
const UDP_INBOX = 4;
const ECHO_INBOX = 5;
