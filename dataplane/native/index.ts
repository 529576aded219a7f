// The one file that loads the addon. For the worker it has the same interface as the TypeScript
// twin (dataplane/io): primitives and an engine. For the main thread it opens what the operating
// system gives. Batches are passed by number; nothing is copied here.

import { createRequire } from 'node:module';
import { markAsUntransferable } from 'node:worker_threads';
import {
  ALONE,
  type Batch,
  createDatagramBatch,
  createPacketBatch,
  createHandedBatches,
  ERROR_COUNT,
  type KeyHandle,
  type MessageLimits,
  type PacketEngine,
  type Team,
  type TunSubstitute,
} from '../contract.ts';
import type { Primitives } from '../noise/primitives.ts';
import type { HostSockets } from '../socket-contract.ts';
import type { EndpointTable } from '../wire/address.ts';

/** Bits that `poll` returns. */
export const EVENT_UDP = 1;
export const EVENT_TUN = 2;
export const EVENT_WAKE = 4;
export const EVENT_TUN_GONE = 8;
export const EVENT_HANDED = 16;
export const EVENT_SOCKETS = 32;

const SLOTS_PER_GENERATION = 2 ** 20;

/** The addon's functions for the main thread. File descriptors are plain numbers; errors throw. */
export interface Addon extends Primitives {
  /**
   * Makes a TUN, or takes one that exists; non-blocking. `takesUdp`: joined UDP datagrams can be
   * written to it. `hasQueues`: each call opens one more queue of the interface.
   */
  openTun(
    name: string,
    virtioHeader: boolean,
    hasQueues?: boolean,
  ): { fd: number; takesUdp: boolean };
  /** Takes a queue out of its TUN, so that the other queues get its packets, or puts it back. */
  setQueue(fd: number, isUsed: boolean): void;
  /** Sets the MTU and brings the interface up. */
  setLink(name: string, mtu: number): void;
  /** Whether somebody has the interface up; one without addresses may be. */
  isLinkUp(name: string): boolean;
  addAddress(name: string, address: Uint8Array, prefixBits: number): void;
  /**
   * Adds a route to a network by an interface, or removes it; EEXIST where somebody else made one.
   */
  changeRoute(name: string, network: Uint8Array, prefixBits: number, isAdded: boolean): void;
  /**
   * Opens a non-blocking socket on all addresses of one family; port 0 takes a free one.
   * `isShared`: others of this process may have the same port.
   */
  openUdp(isIpv6: boolean, port: number, isShared?: boolean): number;
  /**
   * Leads datagrams to the sockets that share a port with `fd`, those of the workers 0, 1 and so on
   * in the order in which they were opened.
   */
  steerUdp(fd: number, workers: number): void;
  /** Keeps others from a shared port, as an exclusive one would, until it is closed. */
  lockPort(port: number): number;
  boundPort(fd: number): number;
  /** Opens an eventfd by which the main thread wakes a worker that waits in `poll`. */
  openWake(): number;
  /**
   * Opens two connected ends of a TUN in memory: each read or write is one packet with its
   * virtio_net_hdr.
   */
  openPair(): [number, number];
  wake(fd: number): void;
  closeFd(fd: number): void;
  /** Lets a program that this process becomes (execve(2)) have a descriptor. */
  keepOnExec(fd: number): void;
  /** Gives the signals that Node ignores their default again, for such a program. */
  defaultSignals(): void;
  /** How many datagrams a socket has lost since it was opened, because it had no room. */
  socketLosses(fd: number): number;
  /**
   * Sends a request, or the messages of a transaction, to the packet filter of the kernel, and
   * returns all that it answers (netlink, NETLINK_NETFILTER).
   */
  askNetfilter(request: Uint8Array): Uint8Array;
  /**
   * Opens a socket that reports changes in this network namespace: of links, addresses and routes,
   * or with `isNetfilter` of nft tables, which needs CAP_NET_ADMIN.
   */
  openEvents(isNetfilter: boolean): number;
  /** Takes the reports of such a socket; returns whether there were any. */
  takeEvents(fd: number): boolean;
  /**
   * Where a TCP connection was bound for before the kernel redirected it to this socket
   * (SO_ORIGINAL_DST); null where it was not redirected.
   */
  originalDestination(fd: number): Destination | null;
  /** CLOCK_BOOTTIME in milliseconds; it counts the time in which the machine sleeps. */
  bootTime: () => number;
  /**
   * Asks the kernel to let this thread run soon after it wakes; false where it refuses. It gets no
   * more time in all.
   */
  useShortSlices(): boolean;
  /** Sends a datagram to a Unix socket, named by its path or by @ and an abstract name. */
  notify(path: Uint8Array, message: Uint8Array): void;
  /** Whether the kernel says that its clock is synchronized (adjtimex). */
  clockIsSynchronized(): boolean;
  /** Gives what malloc holds and nobody uses back to the kernel; it takes milliseconds. */
  releaseMemory(): void;
  /**
   * Gives the pages of Node's own file back to the kernel that a start used. What is used again
   * comes back from the page cache; it takes milliseconds.
   */
  releaseProgram(): void;
  createEngine(options: NativeEngineOptions & NativeMemory & NativeTeam): NativeFunctions;
  /**
   * Makes the sockets of a worker that face the host; `interfaceName` is empty where routes choose
   * the interface. `NativeHostSockets` (dataplane/io/host-sockets.ts) marks the memory.
   */
  createSockets(options: NativeSocketsOptions): NativeSockets;
  /**
   * The type of the kernel's route to an address (RTN_ of rtnetlink), or -errno; fills `source`, 16
   * bytes, with the address from which packets would be sent, or with zeros.
   */
  findRoute(address: Uint8Array, interfaceName: string, source: Uint8Array): number;
}

interface NativeSocketsOptions {
  readonly capacity: number;
  readonly interfaceName: string;
  readonly arenas: readonly Uint8Array[];
  readonly pieces: Int32Array;
  readonly events: Int32Array;
  readonly error: Int32Array;
}

/** The functions of a worker's sockets in the addon. */
export type NativeSockets = Pick<
  HostSockets,
  | 'descriptor'
  | 'connectTcp'
  | 'connectUdp'
  | 'openEcho'
  | 'openPair'
  | 'takeEvents'
  | 'read'
  | 'write'
  | 'end'
  | 'setRoom'
  | 'receive'
  | 'send'
  | 'sendFragmented'
  | 'takeError'
  | 'pathMtu'
  | 'verify'
  | 'closeSocket'
  | 'resetSocket'
  | 'close'
> & { count(): number };

/** Where a TCP connection is bound for. */
export interface Destination {
  readonly address: string;
  readonly port: number;
}

/** The descriptors of a native engine; -1 where there is none. */
export interface NativeEngineOptions extends MessageLimits {
  readonly udp4: number;
  readonly udp6: number;
  readonly tun: number;
  readonly wake: number;
  /** `descriptor` of the host's sockets, whose events end a `poll`; left out: none. */
  readonly sockets?: number;
  readonly tunTakesUdp: boolean;
  /** MTU of the tunnel: padding never goes past it. */
  readonly mtu: number;
  /** What is in place of a TUN, or beside it; left out or null: nothing. */
  readonly substitute?: TunSubstitute | null;
  /** The batches; left out: of its own. */
  readonly batches?: { readonly datagrams: Batch; readonly packets: Batch };
}

interface NativeMemory {
  readonly datagrams: Uint8Array;
  readonly datagramDescriptors: Int32Array;
  readonly packets: Uint8Array;
  readonly packetDescriptors: Int32Array;
  readonly endpoints: Uint8Array;
  readonly endpointCount: number;
  readonly errors: Float64Array;
}

interface NativeTeam {
  readonly self: number;
  readonly workers: number;
  /** The first endpoint slot of what was handed over. */
  readonly handedEndpoints: number;
  readonly sleeping: Int32Array;
  readonly others: readonly {
    readonly worker: number;
    readonly wake: number;
    readonly in: Uint8Array;
    readonly out: Uint8Array;
    readonly descriptors: Int32Array;
  }[];
}

/**
 * The functions of an engine in the addon. A batch is 0 (datagrams), 1 (packets), or from 2 on what
 * worker 0 and so on handed over.
 */
interface NativeFunctions {
  poll(timeoutMs: number): number;
  receive(): number;
  readTun(): number;
  open(batch: number, count: number): void;
  seal(batch: number, count: number): void;
  writeTun(batch: number, count: number): void;
  handOver(batch: number, count: number): number;
  takeHanded(worker: number): number;
  freeHanded(worker: number): void;
  send(message: Uint8Array, address: number): void;
  flush(): void;
  sendRoom(): number;
  installKey(send: Uint8Array, receive: Uint8Array, remoteIndex: number): number;
  removeKey(slot: number, generation: number): void;
  close(): void;
}

let loaded: { addon: Addon } | null = null;

/** Loads the addon; null, with the reason, where it was not built. */
export function loadAddon(): { addon: Addon } | { addon: null; reason: string } {
  if (loaded !== null) return loaded;
  try {
    const addon = createRequire(import.meta.url)('./build/Release/postern.node') as Addon;
    loaded = { addon };
    return loaded;
  } catch (error) {
    return { addon: null, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The native engine. */
export class NativeEngine implements PacketEngine {
  readonly kind = 'native';
  readonly primitives: Primitives;
  readonly endpoints: EndpointTable;
  readonly datagrams: Batch;
  readonly packets: Batch;
  readonly errors = new Float64Array(ERROR_COUNT);
  readonly handed: readonly (Batch | null)[];
  readonly substitute: TunSubstitute | null;
  readonly #hasTun: boolean;
  readonly #functions: NativeFunctions;

  constructor(
    addon: Addon,
    primitives: Primitives,
    endpoints: EndpointTable,
    endpointCount: number,
    options: NativeEngineOptions,
    team: Team = ALONE,
    handedEndpoints = endpointCount,
  ) {
    const { substitute = null, batches, ...rest } = options;
    this.primitives = primitives;
    this.endpoints = endpoints;
    this.substitute = substitute;
    this.#hasTun = options.tun >= 0;
    this.datagrams = batches?.datagrams ?? createDatagramBatch();
    this.packets = batches?.packets ?? createPacketBatch();
    this.handed = createHandedBatches(team);
    const memory: NativeMemory = {
      datagrams: this.datagrams.bytes,
      datagramDescriptors: this.datagrams.descriptors,
      packets: this.packets.bytes,
      packetDescriptors: this.packets.descriptors,
      endpoints: endpoints.bytes,
      endpointCount,
      errors: this.errors,
    };
    // The addon keeps pointers into this memory, so it must not be transferred to another thread.
    for (const held of Object.values(memory))
      if (ArrayBuffer.isView(held)) markAsUntransferable(held.buffer);
    const shared = nativeTeam(team, this.handed, handedEndpoints);
    this.#functions = addon.createEngine({ ...rest, ...memory, ...shared });
  }

  /** Waits for an event, at most `timeoutMs` (negative: without limit); returns EVENT_ bits. */
  poll(timeoutMs: number): number {
    return this.#functions.poll(timeoutMs);
  }

  /** Fills `datagrams` from the sockets. */
  receive(): void {
    this.datagrams.count = this.#functions.receive();
  }

  /** Fills `packets` from the TUN. */
  readTun(): void {
    this.packets.count = this.#functions.readTun();
  }

  /** Fills `packets` from what is in place of a TUN, or beside it. */
  readSockets(): void {
    this.substitute?.read(this.packets);
  }

  /** Sends what `seal` and `send` queued. */
  flush(): void {
    this.#functions.flush();
  }

  sendRoom(): number {
    return this.#functions.sendRoom();
  }

  open(batch: Batch): void {
    this.#functions.open(this.#numberOf(batch), batch.count);
  }

  seal(batch: Batch): void {
    this.#functions.seal(this.#numberOf(batch), batch.count);
  }

  writeTun(batch: Batch): void {
    if (this.#hasTun || this.substitute === null)
      this.#functions.writeTun(this.#numberOf(batch), batch.count);
    else this.substitute.write(batch);
  }

  writeDoors(batch: Batch): void {
    this.substitute?.write(batch);
  }

  send(message: Uint8Array, address: number): void {
    this.#functions.send(message, address);
  }

  installKey(send: Uint8Array, receive: Uint8Array, remoteIndex: number): KeyHandle | null {
    const handle = this.#functions.installKey(send, receive, remoteIndex);
    if (handle < 0) return null;
    const slot = handle % SLOTS_PER_GENERATION;
    // Descriptors contain the generation as a signed number.
    return { slot, generation: ((handle - slot) / SLOTS_PER_GENERATION) | 0 };
  }

  removeKey(slot: number, generation: number): void {
    this.#functions.removeKey(slot, generation);
  }

  /** Wipes all keys and releases the memory; the file descriptors stay open. */
  close(): void {
    this.#functions.close();
  }

  handOver(batch: Batch): number {
    return this.#functions.handOver(this.#numberOf(batch), batch.count);
  }

  takeHanded(worker: number): void {
    this.handed[worker]!.count = this.#functions.takeHanded(worker);
  }

  freeHanded(worker: number): void {
    this.handed[worker]!.count = 0;
    this.#functions.freeHanded(worker);
  }

  #numberOf(batch: Batch): number {
    if (batch === this.datagrams) return 0;
    return batch === this.packets ? 1 : 2 + this.handed.indexOf(batch);
  }
}

/** A team as the addon takes it. */
function nativeTeam(
  { self, size, memory, wakes }: Team,
  handed: readonly (Batch | null)[],
  handedEndpoints: number,
): NativeTeam {
  const others = handed.flatMap((batch, worker) => {
    if (batch === null || memory === null) return [];
    const { bytes, descriptors } = batch;
    markAsUntransferable(descriptors.buffer);
    const out = new Uint8Array(memory.rings[self]![worker]!);
    return [{ worker, wake: wakes[worker]!, in: bytes, out, descriptors }];
  });
  const sleeping = new Int32Array(memory?.sleeping ?? new SharedArrayBuffer(0));
  return { self, workers: size, handedEndpoints, sleeping, others };
}
