// A machine of TCP under test: packets go in and out as bytes, the owner writes down what it is
// called for, and time is virtual. Bytes have a pattern, so that each differs from its neighbours.

import { strict as assert } from 'node:assert';
import { complete, isRight } from '../../../dataplane/tcp/checksum.ts';
import type { MachineOptions, Owner } from '../../../dataplane/tcp/core.ts';
import { TcpMachine } from '../../../dataplane/tcp/machine.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { seededRandom } from '../dataplane/simulation.ts';

export const ROOM = 65_536 + 256;

/** What a packet carries: its bytes, and how it is to be cut. */
export interface Packet {
  readonly bytes: Buffer;
  /** Bytes of text of each segment; 0: it is one. */
  readonly segmentBytes: number;
  readonly device: number;
}

/** The byte at a place of a stream. */
export function byteAt(place: number, seed = 0): number {
  return ((place * 7 + (place >>> 8) * 13 + (place >>> 16) * 29 + seed * 31) & 0xff) >>> 0;
}

/** So many bytes of a stream from a place on. */
export function bytesAt(place: number, length: number, seed = 0): Buffer {
  const bytes = Buffer.alloc(length);
  for (let i = 0; i < length; i++) bytes[i] = byteAt(place + i, seed);
  return bytes;
}

/** An owner that does nothing; tests replace what they look at. */
export class Idle implements Owner {
  mtu = 1_420;
  mtuOf(): number {
    return this.mtu;
  }
  allowance(_device: number): number {
    return 1 << 30;
  }
  asked(_connection: number): void {
    // Nobody answers.
  }
  opened(_connection: number): void {
    // Nobody looks.
  }
  received(_connection: number, _bytes: Buffer, _offset: number, length: number): number {
    return length;
  }
  finished(_connection: number): void {
    // Nobody looks.
  }
  writable(_connection: number): void {
    // Nobody has bytes.
  }
  ended(_connection: number, _how: number): void {
    // Nobody looks.
  }
}

/** A machine with a buffer for its packets. */
export class Station {
  readonly machine: TcpMachine;
  readonly #arena = Buffer.alloc(ROOM);
  readonly #view = new DataView(this.#arena.buffer, this.#arena.byteOffset, ROOM);
  readonly #packet = new InnerPacket();

  constructor(owner: Owner, seed: number, options: Partial<MachineOptions> = {}) {
    const random = seededRandom(seed);
    this.machine = new TcpMachine({
      owner,
      random: (bytes) => random(bytes),
      devices: 8,
      connections: 64,
      poolBytes: 8 * 1_048_576,
      records: 4_096,
      ranges: 4_096,
      ...options,
    });
  }

  /** Gives a packet to the machine; what is wrong with it throws. */
  receive(device: number, bytes: Uint8Array): number {
    const copy = Buffer.from(bytes);
    const view = new DataView(copy.buffer, copy.byteOffset, copy.length);
    assert.equal(parseInner(view, 0, copy.length, this.#packet), 0);
    const { upperOffset, length } = this.#packet;
    assert(isRight(view, 0, upperOffset, length - upperOffset), 'the checksum is right');
    return this.machine.receive(device, copy, view, 0, this.#packet);
  }

  /** The next packet of the machine, with its checksum completed; null where there is none. */
  make(): Packet | null {
    const length = this.machine.make(this.#arena, this.#view, 0, ROOM);
    if (length === 0) return null;
    const { segmentBytes, device } = this.machine.made;
    assert.equal(parseInner(this.#view, 0, length, this.#packet), 0);
    assert.equal(this.#packet.length, length);
    const { upperOffset } = this.#packet;
    complete(this.#view, upperOffset, length - upperOffset);
    return { bytes: Buffer.from(this.#arena.subarray(0, length)), segmentBytes, device };
  }
}

/** Cuts a run as native/seal.cc does: each segment has the header, only the last one PSH and FIN. */
export function cut({ bytes, segmentBytes }: Packet): Buffer[] {
  if (segmentBytes === 0) return [bytes];
  const isIpv6 = bytes[0]! >> 4 === 6;
  const tcp = isIpv6 ? 40 : 20;
  const header = tcp + (bytes[tcp + 12]! >> 4) * 4;
  const cuts: Buffer[] = [];
  for (let at = 0; at < bytes.length - header; at += segmentBytes) {
    const text = bytes.subarray(header + at, Math.min(header + at + segmentBytes, bytes.length));
    const isLast = header + at + text.length === bytes.length;
    const one = Buffer.concat([bytes.subarray(0, header), text]);
    one.writeUInt32BE((bytes.readUInt32BE(tcp + 4) + at) >>> 0, tcp + 4);
    if (!isLast) one[tcp + 13]! &= ~0x09;
    cuts.push(finished(one, tcp));
  }
  return cuts;
}

/** Writes lengths and checksums of a packet anew. */
export function finished(packet: Buffer, tcp: number): Buffer {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.length);
  if (tcp === 40) view.setUint16(4, packet.length - 40);
  else {
    view.setUint16(2, packet.length);
    view.setUint16(10, 0);
    view.setUint16(10, ~sum(packet, 0, 20) & 0xffff);
  }
  view.setUint16(tcp + 16, 0);
  const addresses = tcp === 40 ? sum(packet, 8, 40) : sum(packet, 12, 20);
  const pseudo = addresses + 6 + packet.length - tcp;
  view.setUint16(tcp + 16, ~fold(pseudo + sum(packet, tcp, packet.length)) & 0xffff);
  return packet;
}

/** The sum of RFC 1071, on its own, so that checksum.ts is compared with another one. */
export function sum(bytes: Uint8Array, from: number, to: number): number {
  let total = 0;
  for (let i = from; i < to; i += 2) total += bytes[i]! * 256 + (i + 1 < to ? bytes[i + 1]! : 0);
  return fold(total);
}

function fold(total: number): number {
  let folded = total;
  while (folded > 0xffff) folded = (folded % 0x1_0000) + Math.floor(folded / 0x1_0000);
  return folded;
}
