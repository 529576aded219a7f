// ICMP errors for devices: what the host's network has said about a connection or a datagram, and
// what this gateway says itself. Each quotes the packet, or as much of it as is still known: its
// addresses, ports and, of TCP, the number of the SYN. They wait here until there is room for them.

import { constants } from 'node:os';
import type { NetworkConfig } from '../contract.ts';
import { Pace } from '../pace.ts';
import { Ends } from '../tcp/table.ts';
import { checksum } from '../wire/checksum.ts';
import { mayBeAnsweredByError } from '../wire/icmp.ts';
import { type InnerPacket, PROTOCOL_ICMP, PROTOCOL_ICMPV6 } from '../wire/ip.ts';
import { wordsOf } from '../wire/network.ts';
import { ipBytes, writeIp, writeSent } from './headers.ts';
import type { Outbox } from './outbox.ts';

/** Type and code (RFC 792, RFC 4443) in one number, of IPv4 and of IPv6. */
export interface IcmpKind {
  readonly ipv4: number;
  readonly ipv6: number;
  /** Whether the destination itself says it. */
  readonly isOfDestination: boolean;
}

function kind(
  [type4, code4]: readonly [number, number],
  [type6, code6]: readonly [number, number],
  isOfDestination = false,
): IcmpKind {
  return { ipv4: (type4 << 8) | code4, ipv6: (type6 << 8) | code6, isOfDestination };
}

export const NETWORK_UNREACHABLE = kind([3, 0], [1, 0]);
export const HOST_UNREACHABLE = kind([3, 1], [1, 3]);
export const PORT_UNREACHABLE = kind([3, 3], [1, 4], true);
/** Its second number is the size that a packet may have. */
export const TOO_BIG = kind([3, 4], [2, 0]);
export const PROHIBITED = kind([3, 13], [1, 1]);
export const TIME_EXCEEDED = kind([11, 0], [3, 0]);

const { EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM } = constants.errno;
const { EACCES, EAFNOSUPPORT, EHOSTUNREACH, ENETUNREACH, EPERM } = constants.errno;

/** What a failed call says about a destination; null: it is about this host. */
export function unreachable(error: number): IcmpKind | null {
  if (error === EHOSTUNREACH) return HOST_UNREACHABLE;
  if (error === ENETUNREACH || error === EAFNOSUPPORT) return NETWORK_UNREACHABLE;
  return error === EACCES || error === EPERM ? PROHIBITED : null;
}

/** Whether a call has failed for want of something that this process or host has too little of. */
export function isOwnError(error: number): boolean {
  return [EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL].includes(error);
}

/** Errors that wait; what finds no room is not sent, as RFC 1812, 4.3.2.8 allows. */
const PLACES = 64;
/** So much of a packet is quoted. */
const QUOTED_MAX = 128;
const STRIDE = 16 + QUOTED_MAX;
/** A device gets so many at once, then one in each interval. */
const BURST = 32;
const INTERVAL_MS = 50;
const ICMP_BYTES = 8;

/** Words of a place before the quoted bytes. */
const KIND = 0;
const WORD = 4;
const LENGTH = 8;
const IS_IPV6 = 10;
const IS_OF_DESTINATION = 11;

/** The errors that wait. */
export class IcmpErrors {
  readonly #own4: readonly number[] | null;
  readonly #own6: readonly number[] | null;
  readonly #pace: Pace;
  readonly #bytes = Buffer.alloc(PLACES * STRIDE);
  readonly #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, PLACES * STRIDE);
  /** Between whom an error goes; the source is the own side. */
  readonly #ends = new Ends();
  #first = 0;
  #count = 0;
  #now = 0;

  constructor(ipv4: NetworkConfig | null, ipv6: NetworkConfig | null, devices: number) {
    this.#own4 = ipv4 === null ? null : wordsOf(ipv4.address);
    this.#own6 = ipv6 === null ? null : wordsOf(ipv6.address);
    this.#pace = new Pace(devices, BURST, INTERVAL_MS);
  }

  begin(now: number): void {
    this.#now = now;
  }

  get count(): number {
    return this.#count;
  }

  /** An error about the packet at `offset` that a device has sent; `word`: what it says more. */
  aboutPacket(
    device: number,
    view: DataView,
    offset: number,
    packet: InnerPacket,
    what: IcmpKind,
    word = 0,
  ): void {
    if (!mayBeAnsweredByError(view, offset, packet)) return;
    const at = this.#begin(device, packet.version === 6, what, word);
    if (at < 0) return;
    const length = Math.min(packet.length, QUOTED_MAX);
    for (let i = 0; i < length; i++) this.#view.setUint8(at + 16 + i, view.getUint8(offset + i));
    this.#view.setUint16(at + LENGTH, length);
  }

  /**
   * An error about a packet between these ends, which is gone. `number` is the sequence number of
   * TCP or of the echo.
   */
  aboutEnds(
    device: number,
    ends: Ends,
    protocol: number,
    what: IcmpKind,
    number: number,
    word = 0,
  ): void {
    const at = this.#begin(device, ends.isIpv6, what, word);
    if (at < 0) return;
    const length = writeSent(this.#view, at + 16, ends, protocol, number);
    this.#view.setUint16(at + LENGTH, length);
  }

  /** Takes a place; -1 where there is none, or the device had enough. */
  #begin(device: number, isIpv6: boolean, what: IcmpKind, word: number): number {
    if (this.#count === PLACES || (isIpv6 ? this.#own6 : this.#own4) === null) return -1;
    if (!this.#pace.allows(device, this.#now)) return -1;
    const at = ((this.#first + this.#count++) % PLACES) * STRIDE;
    const view = this.#view;
    view.setUint32(at + KIND, isIpv6 ? what.ipv6 : what.ipv4);
    view.setUint32(at + WORD, word);
    view.setUint8(at + IS_IPV6, isIpv6 ? 1 : 0);
    view.setUint8(at + IS_OF_DESTINATION, what.isOfDestination ? 1 : 0);
    return at;
  }

  /** Makes the oldest error into a packet. */
  make(outbox: Outbox): void {
    const from = this.#view;
    const at = this.#first * STRIDE;
    this.#first = (this.#first + 1) % PLACES;
    this.#count--;
    const isIpv6 = from.getUint8(at + IS_IPV6) === 1;
    const quoted = from.getUint16(at + LENGTH);
    const ends = this.#endsOf(at, isIpv6);
    const { view, bytes, offset } = outbox;
    const upper = ipBytes(isIpv6);
    const length = upper + ICMP_BYTES + quoted;
    const protocol = isIpv6 ? PROTOCOL_ICMPV6 : PROTOCOL_ICMP;
    writeIp(view, offset, ends, protocol, length);
    const icmp = offset + upper;
    view.setUint16(icmp, from.getUint32(at + KIND));
    view.setUint16(icmp + 2, 0);
    view.setUint32(icmp + 4, from.getUint32(at + WORD));
    this.#bytes.copy(bytes, icmp + ICMP_BYTES, at + 16, at + 16 + quoted);
    // The pseudo header of ICMPv6: both addresses, the length, the protocol.
    const sum = isIpv6
      ? checksum(view, offset + 8, length - 8, length - upper + protocol)
      : checksum(view, icmp, length - upper, 0);
    view.setUint16(icmp + 2, sum);
    outbox.add(length);
  }

  /** From the gateway, or from where the quoted packet went; to its sender. */
  #endsOf(at: number, isIpv6: boolean): Ends {
    const ends = this.#ends;
    const quoted = at + 16;
    const count = isIpv6 ? 4 : 1;
    const source = quoted + (isIpv6 ? 8 : 12);
    const own = (isIpv6 ? this.#own6 : this.#own4)!;
    const isOfDestination = this.#view.getUint8(at + IS_OF_DESTINATION) === 1;
    ends.isIpv6 = isIpv6;
    for (let i = 0; i < count; i++) {
      ends.words[4 + i] = this.#view.getInt32(source + 4 * i);
      ends.words[i] = isOfDestination ? this.#view.getInt32(source + 4 * (count + i)) : own[i]!;
    }
    return ends;
  }
}
