// Networks as words of 32 bits, which say whether an address is in a network. A tunnel network also
// knows the gateway's own address.

import { formatAddress } from './address.ts';
import { sameBytes } from './bytes.ts';

/** A network: the bytes of an address, 4 or 16, and a prefix length; host bits do not count. */
export interface NetworkRange {
  readonly network: Uint8Array;
  readonly prefixBits: number;
}

/** The text of a network: 10.0.0.0/8. */
export function formatNetwork({ network, prefixBits }: NetworkRange): string {
  return `${formatAddress(network)}/${prefixBits}`;
}

/**
 * The first address of a network, its mask, and the first address behind it; null where there is
 * none.
 */
export function boundsOf({ network, prefixBits }: NetworkRange): {
  readonly first: Uint8Array;
  readonly mask: Uint8Array;
  readonly beyond: Uint8Array | null;
} {
  const ones = new Uint8Array(network.length).fill(0xff);
  return {
    first: withHostBits(network, prefixBits, 0),
    mask: withHostBits(ones, prefixBits, 0),
    beyond: successorOf(withHostBits(network, prefixBits, 0xff)),
  };
}

/** An address with all its host bits 0, or all 1. */
export function withHostBits(
  address: Uint8Array,
  prefixBits: number,
  hostByte: 0 | 0xff,
): Uint8Array {
  const bytes = address.slice();
  const partial = prefixBits >> 3;
  if (partial === bytes.length) return bytes;
  const hostMask = 0xff >> (prefixBits & 7);
  bytes[partial] = (bytes[partial]! & ~hostMask) | (hostByte & hostMask);
  return bytes.fill(hostByte, partial + 1);
}

/** The address behind an address; null behind the last one. */
export function successorOf(address: Uint8Array): Uint8Array | null {
  const next = address.slice();
  for (let i = next.length - 1; i >= 0; i--) {
    next[i]! += 1;
    if (next[i] !== 0) return next;
  }
  return null;
}

/** Whether an address, 4 or 16 bytes, is in a network. */
export function isInNetwork(address: Uint8Array, { network, prefixBits }: NetworkRange): boolean {
  if (address.length !== network.length) return false;
  for (let i = 0, bits = prefixBits; bits > 0; i++, bits -= 8) {
    const different = (address[i] ?? 0) ^ (network[i] ?? 0);
    if (different >> Math.max(0, 8 - bits) !== 0) return false;
  }
  return true;
}

/** Whether an IPv4 address, as a word, is a broadcast of a network: its first or its last one. */
export function isBroadcastIn({ network, prefixBits }: NetworkRange, address: number): boolean {
  if (network.length !== 4 || prefixBits > 30) return false;
  const hostMask = prefixBits === 0 ? -1 : ~(-1 << (32 - prefixBits));
  let first = 0;
  for (let i = 0; i < 4; i++) first = (first << 8) | network[i]!;
  first &= ~hostMask;
  return address === first || address === (first | hostMask);
}

/** Whether two lists have the same networks in the same order; a list that is left out is empty. */
export function sameNetworks(
  a: readonly NetworkRange[] = [],
  b: readonly NetworkRange[] = [],
): boolean {
  return a.length === b.length && a.every((range, i) => isSameNetwork(range, b[i]!));
}

/** The networks that are in the first list and not in the second. */
export function lostNetworks(
  before: readonly NetworkRange[] = [],
  after: readonly NetworkRange[] = [],
): NetworkRange[] {
  return before.filter((range) => !after.some((other) => isSameNetwork(range, other)));
}

/** Whether a network of one IP version is in the first list and not in the second. */
export function losesNetwork(
  before: readonly NetworkRange[] | undefined,
  after: readonly NetworkRange[] | undefined,
  version: 4 | 6,
): boolean {
  const length = version === 4 ? 4 : 16;
  return lostNetworks(before, after).some(({ network }) => network.length === length);
}

function isSameNetwork(a: NetworkRange, b: NetworkRange): boolean {
  return a.prefixBits === b.prefixBits && sameBytes(a.network, b.network);
}

/** The addresses of a network of one family, for people who ask. */
export class AddressRange {
  readonly #version: number;
  readonly #network: readonly number[];
  readonly #masks: readonly number[];

  /** `network` is 4 or 16 bytes; its host bits do not count. */
  constructor({ network, prefixBits }: NetworkRange) {
    this.#version = network.length === 4 ? 4 : 6;
    this.#masks = masksOf(prefixBits);
    this.#network = wordsOf(network).map((word, i) => word & this.#masks[i]!);
  }

  /** Whether an address is in it; an IPv4 address is one word and three zeros. */
  has(version: number, words: ArrayLike<number>): boolean {
    return (
      version === this.#version &&
      this.#masks.every((mask, i) => (words[i]! & mask) === this.#network[i])
    );
  }
}

/** A tunnel network and the gateway's own address in it, as words. */
export class OwnNetwork {
  readonly #network: readonly number[];
  readonly #masks: readonly number[];
  readonly #address: readonly number[];

  constructor(config: NetworkRange & { address: Uint8Array }) {
    this.#masks = masksOf(config.prefixBits);
    this.#network = wordsOf(config.network).map((word, i) => word & this.#masks[i]!);
    this.#address = wordsOf(config.address);
  }

  /** Whether an address is in it; an IPv4 address is one word and three zeros. */
  contains(word0: number, word1: number, word2: number, word3: number): boolean {
    const [mask0, mask1, mask2, mask3] = this.#masks as [number, number, number, number];
    return (
      (word0 & mask0) === this.#network[0] &&
      (word1 & mask1) === this.#network[1] &&
      (word2 & mask2) === this.#network[2] &&
      (word3 & mask3) === this.#network[3]
    );
  }

  /** Whether an address is the gateway's own. */
  isAddress(word0: number, word1: number, word2: number, word3: number): boolean {
    return (
      word0 === this.#address[0] &&
      word1 === this.#address[1] &&
      word2 === this.#address[2] &&
      word3 === this.#address[3]
    );
  }
}

/** An address as four words, most significant first; IPv4 uses the first and leaves zeros. */
export function wordsOf(address: Uint8Array): number[] {
  const view = new DataView(address.buffer, address.byteOffset, address.byteLength);
  return [0, 1, 2, 3].map((i) => (4 * i < address.length ? view.getInt32(4 * i) : 0));
}

function masksOf(prefixBits: number): number[] {
  return [0, 1, 2, 3].map((i) => {
    const bits = Math.min(32, Math.max(0, prefixBits - 32 * i));
    return bits === 0 ? 0 : -1 << (32 - bits);
  });
}
