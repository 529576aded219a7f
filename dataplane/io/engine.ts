// The TypeScript twin of the addon: the same batches, keys and marks. It is given its primitives
// and its links: sockets and a TUN, or a simulation. It is for tests and for machines without a
// compiler. It allocates for each packet, and neither joins nor segments packets.

import {
  AEAD_NONCE_BYTES,
  DATAGRAM_SLOTS,
  MAX_KEYPAIRS,
  PACKET_SLOTS,
  PADDING_BYTES,
  REJECT_AFTER_MESSAGES,
  REKEY_AFTER_MESSAGES,
  SLOT_BYTES,
  SLOT_HEADROOM_BYTES,
  TAG_BYTES,
  TRANSPORT_OVERHEAD_BYTES,
} from '../constants.ts';
import {
  ADDRESS,
  type Batch,
  createDatagramBatch,
  createPacketBatch,
  DATAGRAMS,
  DESCRIPTOR_WORDS,
  ERROR_COUNT,
  ERROR_TUN_WRITE,
  ERROR_UDP_RECEIVE,
  GENERATION,
  KEY,
  type KeyHandle,
  LENGTH,
  type MessageLimits,
  OFFSET,
  type PacketEngine,
  MARK,
  MARK_DROP,
  MARK_OPEN,
  MARK_OPEN_FAILED,
  MARK_OPENED,
  MARK_SEAL,
  MARK_SEAL_EXHAUSTED,
  MARK_SEALED,
  MARK_SEALED_REKEY,
  MARK_TUN,
  type TunSubstitute,
} from '../contract.ts';
import type { Primitives } from '../noise/primitives.ts';
import { type Endpoint, type EndpointTable, readEndpoint, writeEndpoint } from '../wire/address.ts';
import { TRANSPORT_DATA, transport } from '../wire/messages.ts';
import type { Rings } from './rings.ts';

/** Where the twin sends datagrams and packets. */
export interface Links {
  /** Takes a datagram for an endpoint; the receiver may keep the bytes. */
  sendDatagram(bytes: Uint8Array, to: Endpoint): void;
  /** How many bytes it takes before it is full; left out: any number. */
  sendRoom?(): number;
  /** Takes a packet for the TUN; null where there is none. Throws when it cannot be written. */
  writePacket: ((packet: Uint8Array) => void) | null;
}

/** Where an engine holds messages during a turn. */
export interface Batches {
  readonly datagrams: Batch;
  readonly packets: Batch;
}

/** Makes the batches of an engine. */
export function createBatches(): Batches {
  return { datagrams: createDatagramBatch(), packets: createPacketBatch() };
}

/** What only some engines need. */
export interface EngineExtras {
  /** Lower limits of messages, for tests. */
  readonly limits?: MessageLimits;
  /** The rings with other workers. */
  readonly rings?: Rings;
  /**
   * The batches of an engine that never has its turn at the same time; left out: batches of its
   * own.
   */
  readonly batches?: Batches;
  /** What is in place of a TUN; left out or null: nothing. */
  readonly substitute?: TunSubstitute | null;
}

/** Data messages authenticate no further bytes (section 5.4.6). */
const NOTHING = new Uint8Array(0);

interface KeySlot {
  readonly send: Uint8Array;
  readonly receive: Uint8Array;
  readonly remoteIndex: number;
  readonly generation: number;
  sendCounter: number;
}

/** The engine in TypeScript. */
export class TypeScriptEngine implements PacketEngine {
  readonly kind = 'typescript';
  readonly primitives: Primitives;
  readonly endpoints: EndpointTable;
  readonly datagrams: Batch;
  readonly packets: Batch;
  readonly errors = new Float64Array(ERROR_COUNT);
  readonly handed: readonly (Batch | null)[];
  readonly substitute: TunSubstitute | null;
  readonly #rings: Rings | null;
  readonly #links: Links;
  readonly #mtu: number;
  readonly #rekeyAfterMessages: number;
  readonly #rejectAfterMessages: number;
  readonly #keys = new Map<number, KeySlot>();
  readonly #freeSlots: number[] = [];
  #slotsUsed = 0;
  #generation = 0;
  readonly #nonce = new Uint8Array(AEAD_NONCE_BYTES);
  readonly #nonceView = new DataView(this.#nonce.buffer);

  constructor(
    primitives: Primitives,
    endpoints: EndpointTable,
    mtu: number,
    links: Links,
    { limits = {}, rings, batches = createBatches(), substitute = null }: EngineExtras = {},
  ) {
    this.substitute = substitute;
    this.datagrams = batches.datagrams;
    this.packets = batches.packets;
    this.primitives = primitives;
    this.endpoints = endpoints;
    this.#mtu = mtu;
    this.#links = links;
    this.#rings = rings ?? null;
    this.handed = rings?.handed ?? [];
    this.#rekeyAfterMessages = lowered(limits.rekeyAfterMessages, REKEY_AFTER_MESSAGES);
    this.#rejectAfterMessages = lowered(limits.rejectAfterMessages, REJECT_AFTER_MESSAGES);
  }

  // ---- in ----

  /** Puts a datagram into the batch; false when the batch is full. */
  acceptDatagram(bytes: Uint8Array, address: Uint8Array, port: number): boolean {
    const batch = this.datagrams;
    const slot = batch.count;
    if (slot === DATAGRAM_SLOTS) return false;
    if (bytes.length > SLOT_BYTES) {
      this.errors[ERROR_UDP_RECEIVE]! += 1;
      return true;
    }
    batch.bytes.set(bytes, slot * SLOT_BYTES);
    writeEndpoint(this.endpoints, slot, address, port);
    this.#describe(batch, slot * SLOT_BYTES, bytes.length, slot);
    return true;
  }

  /** Puts a packet from the TUN into the batch; false when the batch is full. */
  acceptPacket(packet: Uint8Array): boolean {
    const batch = this.packets;
    if (batch.count === PACKET_SLOTS) return false;
    const offset = batch.count * SLOT_BYTES + SLOT_HEADROOM_BYTES;
    batch.bytes.set(packet, offset);
    this.#describe(batch, offset, packet.length, 0);
    return true;
  }

  #describe(batch: Batch, offset: number, length: number, address: number): void {
    const d = batch.descriptors;
    const at = batch.count++ * DESCRIPTOR_WORDS;
    d[at + OFFSET] = offset;
    d[at + LENGTH] = length;
    d[at + ADDRESS] = address;
    d[at + MARK] = MARK_DROP;
  }

  open(batch: Batch): void {
    const d = batch.descriptors;
    for (let at = 0; at < batch.count * DESCRIPTOR_WORDS; at += DESCRIPTOR_WORDS) {
      if (d[at + MARK] !== MARK_OPEN) continue;
      d[at + MARK] = this.#openOne(batch, at) ? MARK_OPENED : MARK_OPEN_FAILED;
    }
  }

  #openOne(batch: Batch, at: number): boolean {
    const d = batch.descriptors;
    const key = this.#key(d[at + KEY]!, d[at + GENERATION]!);
    const offset = d[at + OFFSET]!;
    const length = d[at + LENGTH]!;
    if (key === null || length < TRANSPORT_OVERHEAD_BYTES) return false;
    const counter = batch.view.getBigUint64(offset + transport.counter, true);
    const sealed = batch.bytes.subarray(offset + transport.packet, offset + length);
    const packet = sealed.subarray(0, sealed.length - TAG_BYTES);
    const nonce = this.#nonceOf(counter);
    if (!this.primitives.open(packet, key.receive, nonce, sealed, NOTHING)) return false;
    d[at + OFFSET] = offset + transport.packet;
    d[at + LENGTH] = packet.length;
    return true;
  }

  // ---- out ----

  seal(batch: Batch): void {
    const d = batch.descriptors;
    for (let at = 0; at < batch.count * DESCRIPTOR_WORDS; at += DESCRIPTOR_WORDS) {
      if (d[at + MARK] === MARK_SEAL) d[at + MARK] = this.#sealOne(batch, at);
    }
  }

  #sealOne(batch: Batch, at: number): number {
    const d = batch.descriptors;
    d[at + DATAGRAMS] = 0;
    const key = this.#key(d[at + KEY]!, d[at + GENERATION]!);
    if (key === null || key.sendCounter >= this.#rejectAfterMessages) return MARK_SEAL_EXHAUSTED;
    const offset = d[at + OFFSET]!;
    const length = d[at + LENGTH]!;
    const padded = new Uint8Array(paddedLength(length, this.#mtu));
    padded.set(batch.bytes.subarray(offset, offset + length));
    const message = new Uint8Array(transport.packet + padded.length + TAG_BYTES);
    const view = new DataView(message.buffer);
    const counter = BigInt(key.sendCounter++);
    view.setUint32(0, TRANSPORT_DATA, true);
    view.setInt32(transport.receiver, key.remoteIndex, true);
    view.setBigUint64(transport.counter, counter, true);
    const sealed = message.subarray(transport.packet);
    this.primitives.seal(sealed, key.send, this.#nonceOf(counter), padded, NOTHING);
    this.#transmit(message, d[at + ADDRESS]!);
    d[at + LENGTH] = message.length;
    d[at + DATAGRAMS] = 1;
    return key.sendCounter >= this.#rekeyAfterMessages ? MARK_SEALED_REKEY : MARK_SEALED;
  }

  send(message: Uint8Array, address: number): void {
    this.#transmit(message.slice(), address);
  }

  sendRoom(): number {
    return this.#links.sendRoom?.() ?? Number.POSITIVE_INFINITY;
  }

  #transmit(message: Uint8Array, address: number): void {
    const endpoint = readEndpoint(this.endpoints, address);
    if (endpoint !== null) this.#links.sendDatagram(message, endpoint);
  }

  writeTun(batch: Batch): void {
    if (this.substitute !== null) return this.substitute.write(batch);
    const d = batch.descriptors;
    for (let at = 0; at < batch.count * DESCRIPTOR_WORDS; at += DESCRIPTOR_WORDS) {
      if (d[at + MARK] !== MARK_TUN) continue;
      d[at + MARK] = MARK_DROP;
      const offset = d[at + OFFSET]!;
      try {
        this.#links.writePacket?.(batch.bytes.slice(offset, offset + d[at + LENGTH]!));
      } catch {
        this.errors[ERROR_TUN_WRITE]! += 1;
      }
    }
  }

  writeDoors(batch: Batch): void {
    this.substitute?.write(batch);
  }

  // ---- other workers ----

  /** Whether other workers have handed over packets that were not taken yet. */
  get hasHanded(): boolean {
    return this.#rings?.hasNews === true;
  }

  handOver(batch: Batch): number {
    return this.#rings?.handOver(batch) ?? 0;
  }

  takeHanded(worker: number): void {
    this.#rings?.take(worker);
  }

  freeHanded(worker: number): void {
    this.#rings?.free(worker);
  }

  // ---- keys ----

  installKey(send: Uint8Array, receive: Uint8Array, remoteIndex: number): KeyHandle | null {
    if (this.#keys.size === MAX_KEYPAIRS) return null;
    const slot = this.#freeSlots.pop() ?? this.#slotsUsed++;
    const generation = ++this.#generation | 0;
    this.#keys.set(slot, {
      send: send.slice(),
      receive: receive.slice(),
      remoteIndex,
      generation,
      sendCounter: 0,
    });
    return { slot, generation };
  }

  removeKey(slot: number, generation: number): void {
    const key = this.#key(slot, generation);
    if (key === null) return;
    key.send.fill(0);
    key.receive.fill(0);
    this.#keys.delete(slot);
    this.#freeSlots.push(slot);
  }

  /** Wipes all keys. */
  close(): void {
    for (const [slot, key] of this.#keys) this.removeKey(slot, key.generation);
  }

  #key(slot: number, generation: number): KeySlot | null {
    const key = this.#keys.get(slot);
    return key !== undefined && key.generation === generation ? key : null;
  }

  #nonceOf(counter: bigint): Uint8Array {
    this.#nonceView.setBigUint64(4, counter, true);
    return this.#nonce;
  }
}

/**
 * The length after padding to 16 bytes. Padding stops at the MTU: else the datagram of a full
 * packet would be fragmented.
 */
function paddedLength(length: number, mtu: number): number {
  const padded = Math.ceil(length / PADDING_BYTES) * PADDING_BYTES;
  return length <= mtu && padded > mtu ? mtu : padded;
}

/** Checks that a limit is not higher than that of the paper. */
function lowered(limit: number | undefined, most: number): number {
  if (limit === undefined) return most;
  if (!Number.isInteger(limit) || limit < 1 || limit > most)
    throw new TypeError('a limit of messages is no whole number, or higher than it may be');
  return limit;
}
