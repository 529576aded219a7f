// What tests need of the machine itself: the heap, the addon, and engines with both ends at hand.

import { readSync, writeSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../../../dataplane/constants.ts';
import {
  ADDRESS,
  type Batch,
  DATAGRAMS,
  DESCRIPTOR_WORDS,
  GENERATION,
  KEY,
  type KeyHandle,
  LENGTH,
  type MessageLimits,
  OFFSET,
  type PacketEngine,
  MARK,
} from '../../../dataplane/contract.ts';
import { choosePrimitives } from '../../../dataplane/io/crypto.ts';
import { type Links, TypeScriptEngine } from '../../../dataplane/io/engine.ts';
import {
  type Addon,
  EVENT_UDP,
  loadAddon,
  NativeEngine,
  type NativeEngineOptions,
} from '../../../dataplane/native/index.ts';
import { type Primitives, portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import { createEndpointTable, writeEndpoint } from '../../../dataplane/wire/address.ts';
import { address, type TunMessage } from './packets.ts';

/** The addon; null on a machine where it was not built. */
export const addon: Addon | null = loadAddon().addon;

/** The implementations of the primitives on this machine, by name; every one runs every test. */
export const implementations: readonly (readonly [name: string, primitives: Primitives])[] = [
  ['portable', portablePrimitives] as const,
  ...(addon === null ? [] : [['native', choosePrimitives(addon)] as const]),
];

// ---- the heap --------------------------------------------------------------------------------

/** How often a call is measured: in many short rounds. */
export interface Measure {
  readonly calls: number;
  readonly rounds: number;
}

/**
 * Bytes that one call leaves on the heap: the median of many short rounds, because a collection
 * makes the heap shrink in some of them.
 */
export function bytesPerCall(
  call: () => void,
  measure: Measure = { calls: 1_000, rounds: 301 },
): number {
  // The first measurement compiles; its own allocations are those of the optimizer.
  heapGrowth(call, measure);
  heapGrowth(nothing, measure);
  return (heapGrowth(call, measure) - heapGrowth(nothing, measure)) / measure.calls;
}

function heapGrowth(call: () => void, { calls, rounds }: Measure): number {
  const growths = Array.from({ length: rounds }, () => {
    const before = getHeapStatistics().used_heap_size;
    for (let i = 0; i < calls; i++) call();
    return getHeapStatistics().used_heap_size - before;
  });
  return growths.sort((a, b) => a - b)[rounds >> 1]!;
}

function nothing(): void {
  // Measures what the measuring itself costs.
}

// ---- batches ---------------------------------------------------------------------------------

/** What a test sets in a descriptor; what is left out is zero. */
export interface Marks {
  mark: number;
  key?: KeyHandle;
  address?: number;
  offset?: number;
  length?: number;
}

/** Puts bytes into slot `i` of a batch, marks them, and counts the slot as used. */
export function place(batch: Batch, i: number, bytes: Uint8Array, marks: Marks): void {
  const offset = marks.offset ?? i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
  batch.bytes.fill(0, Math.max(0, offset - SLOT_HEADROOM_BYTES), offset);
  batch.bytes.set(bytes, offset);
  setMarks(batch, i, { length: bytes.length, ...marks, offset });
}

/** Marks descriptor `i`, whatever the arena holds. */
export function setMarks(batch: Batch, i: number, marks: Marks): void {
  const d = batch.descriptors;
  const at = i * DESCRIPTOR_WORDS;
  d[at + OFFSET] = marks.offset ?? 0;
  d[at + LENGTH] = marks.length ?? 0;
  d[at + KEY] = marks.key?.slot ?? 0;
  d[at + GENERATION] = marks.key?.generation ?? 0;
  d[at + MARK] = marks.mark;
  d[at + ADDRESS] = marks.address ?? TARGET;
  d[at + DATAGRAMS] = 0;
  batch.count = Math.max(batch.count, i + 1);
}

export function markOf(batch: Batch, i: number): number {
  return batch.descriptors[i * DESCRIPTOR_WORDS + MARK]!;
}

/** The bytes that descriptor `i` points to. */
export function contentOf(batch: Batch, i: number): Uint8Array {
  const at = i * DESCRIPTOR_WORDS;
  const offset = batch.descriptors[at + OFFSET]!;
  return batch.bytes.slice(offset, offset + batch.descriptors[at + LENGTH]!);
}

// ---- engines ---------------------------------------------------------------------------------

/** The endpoint slot to which a bench's engine sends. */
export const TARGET = 100;
const ENDPOINTS = 128;
export const MTU = 1_420;

/** An engine with both ends, UDP and TUN, in the hands of a test. */
export interface EngineBench {
  readonly engine: PacketEngine;
  /** Datagrams that left for TARGET since the last call. */
  datagrams(): Uint8Array[];
  /** Packets that came out at the TUN since the last call. */
  packets(): Uint8Array[];
  close(): void;
}

/** What a test may choose of every engine. */
export interface BenchOptions extends MessageLimits {
  /** Records in its endpoint table. */
  endpoints?: number | undefined;
}

/** Every engine on this machine, by name; tests of the contract run with each. */
export const benches: readonly (readonly [
  name: string,
  open: (options?: BenchOptions) => EngineBench,
])[] = [
  ['typescript', openTypeScriptBench] as const,
  ...(addon === null
    ? []
    : [['native', (options?: BenchOptions) => new NativeBench(addon, options)] as const]),
];

function openTypeScriptBench(options: BenchOptions = {}): EngineBench {
  const { endpoints: count = ENDPOINTS, ...limits } = options;
  const sent: Uint8Array[] = [];
  const written: Uint8Array[] = [];
  const endpoints = createEndpointTable(count);
  writeEndpoint(endpoints, TARGET, address('127.0.0.1'), 9);
  const links: Links = {
    sendDatagram: (bytes) => sent.push(bytes),
    writePacket: (packet) => written.push(packet),
  };
  const engine = new TypeScriptEngine(portablePrimitives, endpoints, MTU, links, { limits });
  return {
    engine,
    datagrams: () => sent.splice(0),
    packets: () => written.splice(0),
    close: () => engine.close(),
  };
}

/** What a test may choose of a native engine. */
export interface NativeBenchOptions extends BenchOptions {
  mtu?: number;
  tunTakesUdp?: boolean;
  isIpv6?: boolean;
}

/**
 * A native engine with a socket on loopback and a TUN in memory whose other end is at hand, and
 * another engine that only listens: what the first sends, the second receives.
 */
export class NativeBench implements EngineBench {
  readonly engine: NativeEngine;
  /** The engine that listens at TARGET. */
  readonly listener: NativeEngine;
  readonly port: number;
  /** The file descriptor at which it listens. */
  readonly listeningSocket: number;
  readonly #native: Addon;
  readonly #descriptors: readonly number[];
  readonly #far: number;
  readonly #message = new Uint8Array(80_000);

  constructor(native: Addon, options: NativeBenchOptions = {}) {
    const { mtu = MTU, tunTakesUdp = true, isIpv6 = false, endpoints, ...limits } = options;
    this.#native = native;
    const [near, far] = native.openPair();
    const socket = native.openUdp(isIpv6, 0);
    const listening = native.openUdp(isIpv6, 0);
    this.#far = far;
    this.#descriptors = [near, far, socket, listening];
    this.port = native.boundPort(socket);
    this.listeningSocket = listening;
    const sockets = (fd: number): Pick<NativeEngineOptions, 'udp4' | 'udp6'> =>
      isIpv6 ? { udp4: -1, udp6: fd } : { udp4: fd, udp6: -1 };
    const common = { wake: -1, tunTakesUdp, mtu };
    this.engine = openNative(
      native,
      { ...common, ...limits, ...sockets(socket), tun: near },
      endpoints,
    );
    this.listener = openNative(native, { ...common, ...sockets(listening), tun: -1 });
    this.aim(TARGET, native.boundPort(listening), isIpv6 ? '::1' : '127.0.0.1');
  }

  /** Sets the address of an endpoint slot of the engine. */
  aim(slot: number, port: number, to = '127.0.0.1'): void {
    writeEndpoint(this.engine.endpoints, slot, address(to), port);
  }

  /** Flushes, and takes what has arrived at the listener, datagram by datagram. */
  datagrams(): Uint8Array[] {
    this.engine.flush();
    const datagrams: Uint8Array[] = [];
    // Loopback delivers at once, except on a busy machine.
    for (let waitMs = 20; (this.listener.poll(waitMs) & EVENT_UDP) !== 0; waitMs = 2) {
      this.listener.receive();
      const batch = this.listener.datagrams;
      for (let i = 0; i < batch.count; i++) datagrams.push(contentOf(batch, i));
    }
    return datagrams;
  }

  /** Lets a packet come from the TUN; it waits until the engine reads. */
  feed(packet: Uint8Array, header: Uint8Array = new Uint8Array(10)): void {
    writeSync(this.#far, Buffer.concat([header, packet]));
  }

  /** Takes what the engine wrote to the TUN, with the header of each. */
  drain(): TunMessage[] {
    const messages: TunMessage[] = [];
    for (;;) {
      let length: number;
      try {
        length = readSync(this.#far, this.#message);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return messages;
        throw error;
      }
      messages.push({
        header: this.#message.slice(0, 10),
        packet: this.#message.slice(10, length),
      });
    }
  }

  packets(): Uint8Array[] {
    return this.drain().map(({ packet }) => packet);
  }

  close(): void {
    this.engine.close();
    this.listener.close();
    for (const fd of this.#descriptors) this.#native.closeFd(fd);
  }
}

/** A native engine with its own endpoint table. */
export function openNative(
  native: Addon,
  options: NativeEngineOptions,
  endpoints = ENDPOINTS,
): NativeEngine {
  return new NativeEngine(
    native,
    portablePrimitives,
    createEndpointTable(endpoints),
    endpoints,
    options,
  );
}
