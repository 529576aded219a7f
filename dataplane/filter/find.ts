// Finds the destination of a packet among ascending addresses, by halves. Never allocates.

import type { InnerPacket } from '../wire/ip.ts';

/** The last of some ascending addresses that is not after the destination of a packet. */
export function find(addresses: Uint32Array, words: 1 | 4, packet: InnerPacket): number {
  return words === 1 ? find4(addresses, packet.destination0) : find6(addresses, packet);
}

function find4(addresses: Uint32Array, address: number): number {
  const wanted = address >>> 0;
  let low = 0;
  let high = addresses.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (addresses[middle]! <= wanted) low = middle;
    else high = middle;
  }
  return low;
}

function find6(addresses: Uint32Array, packet: InnerPacket): number {
  let low = 0;
  let high = addresses.length >>> 2;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (isAtOrBefore(addresses, middle << 2, packet)) low = middle;
    else high = middle;
  }
  return low;
}

function isAtOrBefore(addresses: Uint32Array, at: number, packet: InnerPacket): boolean {
  const word0 = packet.destination0 >>> 0;
  if (addresses[at]! !== word0) return addresses[at]! < word0;
  const word1 = packet.destination1 >>> 0;
  if (addresses[at + 1]! !== word1) return addresses[at + 1]! < word1;
  const word2 = packet.destination2 >>> 0;
  if (addresses[at + 2]! !== word2) return addresses[at + 2]! < word2;
  return addresses[at + 3]! <= packet.destination3 >>> 0;
}
