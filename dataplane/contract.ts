// The plain data at the border of the data plane: configuration goes in, statistics come out, and
// the packet path and an engine exchange batches. An engine is the native addon or its TypeScript
// twin; both obey this contract.

import {
  DATAGRAM_SLOTS,
  DATAGRAMS_PER_SLOT,
  HANDED_PER_TURN,
  PACKET_SLOTS,
  RING_BYTES,
  RING_HEADER_BYTES,
  SLOT_BYTES,
} from './constants.ts';
import type { Primitives } from './noise/primitives.ts';
import type { Place } from './places.ts';
import type { Endpoint, EndpointTable } from './wire/address.ts';
import type { NetworkRange } from './wire/network.ts';

// ---- configuration -------------------------------------------------------------------------

/**
 * A peer as it should be. Its allowed IPs are exactly its addresses, /32 and /128, and the networks
 * behind it.
 */
export interface PeerConfig {
  /** Base64, 44 characters. */
  readonly publicKey: string;
  /** 32 bytes; zeros mean "none". */
  readonly presharedKey: Uint8Array;
  /** 4 bytes, null when the peer has no IPv4 address. */
  readonly ipv4: Uint8Array | null;
  /** 16 bytes, null when the peer has no IPv6 address. */
  readonly ipv6: Uint8Array | null;
  /**
   * Networks behind it. They lie outside the tunnel networks, and those of different peers do not
   * overlap. Left out: none.
   */
  readonly routes?: readonly NetworkRange[];
  /** Name of the scope of the owner, whose rules are asked before the global ones. */
  readonly scope: string;
  /**
   * The groups of the owner, whose rules are asked after the rules of the owner and before the
   * global ones: the numbers of the groups as UTF-16 code units. One text is the smallest value
   * that is shared, compared and sent as a whole. Left out: none.
   */
  readonly groups?: string;
  /** The largest packet that the peer takes; null or left out: the MTU of the tunnel. */
  readonly mtu?: number | null;
  /** The most that the peer gets and sends, in bits per second; null or left out: no limit. */
  readonly limitDown?: number | null;
  readonly limitUp?: number | null;
  /** True: only packets to or from the gateway itself pass; left out: false. */
  readonly isOverQuota?: boolean;
  /**
   * Where the peer was heard last. Read only when the peer is added, so that its tunnel comes back
   * after a restart.
   */
  readonly resume: Heard | null;
}

/** Where and when a peer was heard. */
export interface Heard {
  readonly endpoint: Endpoint;
  /** The gateway's address to which the peer sent; null or left out: not known. */
  readonly local?: string | null;
  /** Unix time in ms. */
  readonly heardAtMs: number;
}

/** A peer that is added, in the place that it has from now on. */
export interface PlacedPeer extends PeerConfig, Place {}

/** A rule as it should be. */
export interface RuleConfig {
  readonly id: string;
  readonly action: 'accept' | 'drop';
  /** 4 or 16 bytes; host bits do not count. */
  readonly address: Uint8Array;
  readonly prefixBits: number;
  /**
   * Null: all traffic. `icmp` is ICMPv6 where the address is one of IPv6. In both cases the ports
   * have no meaning.
   */
  readonly portType: 'tcp' | 'udp' | 'icmp' | null;
  readonly portFirst: number;
  readonly portLast: number;
}

/** Name of the scope whose rules hold for everyone. */
export const GLOBAL_SCOPE = '';

/** A group has a number below this. */
export const GROUP_NUMBERS = 0x1_0000;

const GROUP_MARK = '#';

/** Name of the rules of all groups, where they are compiled together. */
export const GROUPS_SCOPE = GROUP_MARK;

/** Name of the scope of the rules of a group. */
export function groupScope(number: number): string {
  return `${GROUP_MARK}${number}`;
}

const STAGED_MARK = '~';

/**
 * Name of the scope that holds the staged rules of a scope. Staged rules decide nothing; the
 * gateway counts what they would decide.
 */
export function stagedScope(name: string): string {
  return `${STAGED_MARK}${name}`;
}

/** The scope whose staged rules a scope holds; null: the rules of the scope are enforced. */
export function besideScope(name: string): string | null {
  return name.startsWith(STAGED_MARK) ? name.slice(STAGED_MARK.length) : null;
}

/** The number of the group that a scope belongs to, staged or not; null: the scope of no group. */
export function groupOfScope(name: string): number | null {
  const scope = besideScope(name) ?? name;
  return scope.startsWith(GROUP_MARK) ? Number(scope.slice(1)) : null;
}

/** Everything that may change while a gateway runs. Compared by value, entry by entry. */
export interface GatewayConfig {
  /** By public key. */
  readonly peers: ReadonlyMap<string, PeerConfig>;
  /** By scope; a scope without rules is absent. */
  readonly rules: ReadonlyMap<string, readonly RuleConfig[]>;
}

/** A change of some entries of a configuration; all others stay as they are. */
export interface Amendment {
  /** By public key; null: there should be no such peer. */
  readonly peers: ReadonlyMap<string, PeerConfig | null>;
  /** By scope, then by rule id; an empty list: there should be no such rule. */
  readonly rules: ReadonlyMap<string, ReadonlyMap<string, readonly RuleConfig[]>>;
  /** True: no packet passes, whatever peers and rules say; left out: as before. */
  readonly isClosed?: boolean;
  /** What happens to packets that no rule matches; left out: as before. */
  readonly defaultAction?: RuleConfig['action'];
}

/** One tunnel network and the gateway's own address in it, as bytes. */
export interface NetworkConfig extends NetworkRange {
  readonly address: Uint8Array;
}

/** A TCP connection that a device has opened to the gateway's own address in the tunnel. */
export interface DoorConnection {
  /** The port that the device asked for. */
  readonly port: number;
  /** The descriptor of this side of the connection, which belongs to whoever gets this. */
  readonly descriptor: number;
  /** The address and the port from which the device sends. */
  readonly address: string;
  readonly sourcePort: number;
}

/** Addresses of the gateway's host, 4 or 16 bytes each. */
export interface HostAddresses {
  /** Addresses in the network namespace of the gateway, at which its socket can be reached. */
  readonly here: readonly Uint8Array[];
  /**
   * All other addresses; only a gateway without root has any. Packets of devices must not get
   * there.
   */
  readonly outside: readonly Uint8Array[];
  /**
   * Private addresses of servers that the gateway itself needs, as its database. Where packets
   * leave by sockets, only a rule that names exactly this address lets a device reach it. Left out:
   * none.
   */
  readonly guarded?: readonly Uint8Array[];
}

// ---- statistics ----------------------------------------------------------------------------

/** What changed at one peer since the last sample; bytes are increments. */
export interface PeerSample {
  readonly publicKey: string;
  /** Unix time in milliseconds, null before the first handshake. */
  readonly latestHandshakeMs: number | null;
  readonly endpoint: Endpoint | null;
  /** The gateway's address to which the peer sends; null or left out: not known. */
  readonly local?: string | null;
  /** UDP payload received from, and sent to, the peer, as `wg show` counts. */
  readonly rxBytes: number;
  readonly txBytes: number;
  /**
   * The part of these bytes that was inside the tunnel: packets with their padding, without the
   * headers of WireGuard, its handshakes and keepalives.
   */
  readonly rxInnerBytes: number;
  readonly txInnerBytes: number;
}

/** Hits of one rule since the last sample. */
export interface RuleSample {
  readonly id: string;
  readonly packets: number;
  readonly bytes: number;
  /** Unix time in milliseconds. */
  readonly lastHitMs: number;
}

/** What changed since the last sample. */
export interface Sample extends SampleSums {
  readonly peers: readonly PeerSample[];
  readonly rules: readonly RuleSample[];
}

/** Totals since the beginning, by name. */
export interface SampleSums {
  /** Refusals, by reason; zero ones are left out. */
  readonly drops: Readonly<Record<string, number>>;
  /** Records of refused packets that were given up for others, by the cause: `share`, `full`. */
  readonly forgotten: Readonly<Record<string, number>>;
  /**
   * Answers that tell the host and the LAN that nobody is at an address, by what became of the
   * answer: `sent`, `withheld`; left out where there was none.
   */
  readonly answers?: Readonly<Record<string, number>>;
  /**
   * Where packets leave by sockets, what there is now: `tcp`, `udp`, `echo`: sockets; `connecting`:
   * connections whose host has not answered; `buffered`: bytes that wait; `most`: the sockets of
   * the worker that has most.
   */
  readonly sockets?: Readonly<Record<string, number>>;
  /** There too: `segments` of TCP that were sent to devices again. */
  readonly retransmits?: Readonly<Record<string, number>>;
}

/** A part of a sample; its sums are the totals at the time of the part. */
export interface SamplePart extends Sample {
  readonly isLast: boolean;
}

// ---- batches -------------------------------------------------------------------------------

/** Numbers per descriptor. */
export const DESCRIPTOR_WORDS = 8;
/** Byte offset in the arena. */
export const OFFSET = 0;
/**
 * Bytes: of the datagram; after `open`, of the inner packet; after `seal`, of all datagrams made.
 */
export const LENGTH = 1;
/** Slot of the key; in a batch that is handed over, the slot of a peer. */
export const KEY = 2;
/**
 * Generation of the key; an engine refuses one that is not current. In a batch that is handed over,
 * the generation of the peer.
 */
export const GENERATION = 3;
/** What to do with the packet, or what was done: one of the marks below. */
export const MARK = 4;
/** Slot of the endpoint that the datagram came from or goes to. */
export const ADDRESS = 5;
/** Datagrams that `seal` made of the packet. */
export const DATAGRAMS = 6;
/** What is handed over: one of the kinds below. */
export const KIND = 6;
/** For `handOver`: the worker that gets it. */
export const WORKER = 7;

/**
 * Do nothing: it was refused, or all is done. Every other mark asks for one step or reports one.
 */
export const MARK_DROP = 0;
/** For `open`: authenticate and decrypt in place. */
export const MARK_OPEN = 1;
/** From `open`: OFFSET and LENGTH are those of the inner packet. */
export const MARK_OPENED = 2;
/** From `open`: the tag was wrong, or the key is gone. */
export const MARK_OPEN_FAILED = 3;
/**
 * For `writeTun`: write it. KEY is the slot of the peer that sent it, or -1. The engine may
 * overwrite the VIRTIO_HEADER_BYTES before the packet.
 */
export const MARK_TUN = 4;
/** For `seal`: encrypt with KEY and send to ADDRESS; a LENGTH of 0 is a keepalive. */
export const MARK_SEAL = 5;
/** From `seal`: on its way. */
export const MARK_SEALED = 6;
/** From `seal`: on its way, and the key has sent REKEY_AFTER_MESSAGES. */
export const MARK_SEALED_REKEY = 7;
/** From `seal`: the key is gone or has sent REJECT_AFTER_MESSAGES; nothing more will be sealed. */
export const MARK_SEAL_EXHAUSTED = 8;
/** From `seal`: the segments that the packet says it has are impossible. */
export const MARK_SEAL_INVALID = 9;
/** From `readTun` or `receive`: the packet was cut off by the kernel. */
export const MARK_TRUNCATED = 10;

/** For `handOver`: give it to WORKER. */
export const MARK_HAND_OVER = 11;

/** For `writeDoors`: give it to the sockets of this process; KEY is the slot of the peer. */
export const MARK_DOOR = 12;

/** A packet from the TUN, with its virtio_net_hdr. */
export const KIND_FROM_TUN = 0;
/** An inner packet that the peer in KEY and GENERATION sent. */
export const KIND_FROM_PEER = 1;
/** A datagram from ADDRESS, as it came. */
export const KIND_DATAGRAM = 2;
/** An initiation of the peer in KEY and GENERATION, from ADDRESS, and what was opened of it. */
export const KIND_INITIATION = 3;
/** The peer in KEY and GENERATION was heard at ADDRESS. */
export const KIND_MOVE = 4;

/**
 * What takes the packets that would be written to a TUN, and makes those that it would bring; or,
 * beside a TUN, those for listeners of this process and those of the listeners.
 */
export interface TunSubstitute {
  /** When `read` has something to do, in ms of `begin`; infinite: when sockets have events. */
  readonly deadline: number;
  /** Sets the time. */
  begin(now: number): void;
  /**
   * Takes the packets marked MARK_TUN or MARK_DOOR; KEY is the slot of the peer that sent one, or
   * negative.
   */
  write(batch: Batch): void;
  /** Fills an empty batch with packets for peers. */
  read(batch: Batch): void;
}

/** Packets or datagrams in one arena, and what to do with each. */
export interface Batch {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly descriptors: Int32Array;
  /** Descriptors in use. */
  count: number;
}

/**
 * The memory between the workers of one gateway: a ring for each pair of them, and a word for each,
 * which says whether it sleeps.
 */
export interface SharedMemory {
  /** By the worker that gives, then by the one that takes; null for the same worker. */
  readonly rings: readonly (readonly (SharedArrayBuffer | null)[])[];
  /** SLEEPING_WORDS for each worker: the first one is 1 while the worker waits in `poll`. */
  readonly sleeping: SharedArrayBuffer;
}

/** Distance of two words of SharedMemory.sleeping: they must not share a cache line. */
export const SLEEPING_WORDS = 32;

/** One worker of a gateway, as it sees itself and the others. */
export interface Team {
  /** Its number: from 0 on. */
  readonly self: number;
  /** How many workers the gateway has. */
  readonly size: number;
  /** Null where there is one worker. */
  readonly memory: SharedMemory | null;
  /** By worker: the eventfd that wakes it, -1 where there is none. */
  readonly wakes: readonly number[];
}

/** The team of a gateway with one worker. */
export const ALONE: Team = Object.freeze({ self: 0, size: 1, memory: null, wakes: [] });

/** Makes the memory between so many workers; `ringBytes` is a power of two. */
export function createSharedMemory(workers: number, ringBytes = RING_BYTES): SharedMemory {
  const numbers = Array.from({ length: workers }, (_, i) => i);
  return {
    rings: numbers.map((from) =>
      numbers.map((to) =>
        from === to ? null : new SharedArrayBuffer(RING_HEADER_BYTES + ringBytes),
      ),
    ),
    sleeping: new SharedArrayBuffer(workers * SLEEPING_WORDS * 4),
  };
}

/** Makes the batch in which an engine holds datagrams. */
export function createDatagramBatch(): Batch {
  return createBatch(DATAGRAM_SLOTS * SLOT_BYTES, DATAGRAM_SLOTS * DATAGRAMS_PER_SLOT);
}

/** Makes the batch in which an engine holds packets of the TUN. */
export function createPacketBatch(): Batch {
  return createBatch(PACKET_SLOTS * SLOT_BYTES, PACKET_SLOTS);
}

/** Makes the batches of what the other workers of a team hand over; null for the worker itself. */
export function createHandedBatches({ self, memory }: Team): readonly (Batch | null)[] {
  const rings = memory?.rings.map((ofWorker) => ofWorker[self]!) ?? [];
  return rings.map((ring) => (ring === null ? null : batchOver(ring, HANDED_PER_TURN)));
}

/** Makes an empty batch over an arena of its own. */
export function createBatch(arenaBytes: number, capacity: number): Batch {
  return batchOver(new ArrayBuffer(arenaBytes), capacity);
}

function batchOver(buffer: ArrayBufferLike, capacity: number): Batch {
  return {
    bytes: new Uint8Array(buffer),
    view: new DataView(buffer),
    descriptors: new Int32Array(capacity * DESCRIPTOR_WORDS),
    count: 0,
  };
}

/** Kinds of system calls that failed: places in `PacketEngine.errors`. */
export const ERROR_UDP_RECEIVE = 0;
export const ERROR_UDP_SEND = 1;
export const ERROR_TUN_READ = 2;
export const ERROR_TUN_WRITE = 3;
export const ERROR_COUNT = 4;

/** The place where an engine keeps the keys of a keypair. */
export interface KeyHandle {
  readonly slot: number;
  readonly generation: number;
}

/**
 * The first endpoint slot of waiting initiations, of peers, and of packets that other workers
 * handed over; and the number of all slots. The slots before `waiting` belong to the current batch;
 * each other worker has HANDED_PER_TURN slots.
 */
export interface EndpointLayout {
  readonly waiting: number;
  readonly peers: number;
  readonly handed: number;
  readonly total: number;
}

/**
 * How many messages an engine seals with one key. Tests make engines with lower limits, because the
 * real ones are reached after fourteen years; an engine refuses higher limits. So nobody outside an
 * engine ever writes a send counter, and no limit can lead to a repeated nonce.
 */
export interface MessageLimits {
  /** REKEY_AFTER_MESSAGES where it is left out. */
  readonly rekeyAfterMessages?: number;
  /** REJECT_AFTER_MESSAGES where it is left out. */
  readonly rejectAfterMessages?: number;
}

/** The bulk operations of an engine, as the packet path sees them. */
export interface PacketEngine {
  readonly primitives: Primitives;
  readonly endpoints: EndpointTable;
  /** Datagrams from the UDP sockets. Each slot is a message that may hold several of one sender. */
  readonly datagrams: Batch;
  /** Packets from the TUN, or staged ones; each has a virtio_net_hdr before it. */
  readonly packets: Batch;
  /** Counts since the engine began, by kind. */
  readonly errors: Float64Array;
  /** Keeps the keys of a keypair; returns null when all slots are taken. Copies the keys. */
  installKey(send: Uint8Array, receive: Uint8Array, remoteIndex: number): KeyHandle | null;
  /** Wipes a key; its slot can be used again after the current batch. */
  removeKey(slot: number, generation: number): void;
  /** Opens what is marked MARK_OPEN. */
  open(batch: Batch): void;
  /** Pads, seals and queues for sending what is marked MARK_SEAL; in order for each ADDRESS. */
  seal(batch: Batch): void;
  /** How many bytes of datagrams the UDP sockets take before they are full. */
  sendRoom(): number;
  /** Queues a handshake message for the endpoint in a slot. Copies the message. */
  send(message: Uint8Array, address: number): void;
  /** Writes to the TUN, or to the sockets in its place, what is marked MARK_TUN. */
  writeTun(batch: Batch): void;
  /** Gives what is marked MARK_DOOR to the sockets of this process. */
  writeDoors(batch: Batch): void;
  /**
   * By worker: what it handed over, in the memory of its ring; null for this worker itself. A
   * packet has a virtio_net_hdr before it, a datagram its sender in ADDRESS. Empty where there is
   * one worker.
   */
  readonly handed: readonly (Batch | null)[];
  /** Copies what is marked MARK_HAND_OVER to WORKER. Returns how many found no room in its ring. */
  handOver(batch: Batch): number;
  /** Fills the batch of what `worker` handed over. */
  takeHanded(worker: number): void;
  /** Gives the memory of that batch back to `worker`; nothing in it may be used after that. */
  freeHanded(worker: number): void;
}
