// Hashes the addresses and ports of a flow, with the same result for both directions. Writes its
// addresses, and compares them when hashes are equal.

import type { InnerPacket } from '../wire/ip.ts';

/**
 * Hashes a packet. The seeds are secret, so that nobody can fill one place of the table on purpose.
 */
export function hashOf(
  packet: InnerPacket,
  sourcePort: number,
  destinationPort: number,
  seed0: number,
  seed1: number,
): number {
  let source = Math.imul(packet.source0 ^ seed0, 0x9e3779b1) ^ sourcePort;
  let destination = Math.imul(packet.destination0 ^ seed0, 0x9e3779b1) ^ destinationPort;
  if (packet.version === 6) {
    source = mix(mix(mix(source) ^ packet.source1) ^ packet.source2) ^ packet.source3;
    destination =
      mix(mix(mix(destination) ^ packet.destination1) ^ packet.destination2) ^ packet.destination3;
  }
  return mix((mix(source ^ seed1) + mix(destination ^ seed1)) ^ packet.protocol);
}

function mix(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 15), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/**
 * Whether the words of both IPv6 addresses of a packet, except the first ones, are equal to those
 * at two places.
 */
export function isRestAt(
  words: Int32Array,
  source: number,
  destination: number,
  packet: InnerPacket,
): boolean {
  return (
    words[source + 3] === packet.source3 &&
    words[destination + 3] === packet.destination3 &&
    words[source + 2] === packet.source2 &&
    words[destination + 2] === packet.destination2 &&
    words[source + 1] === packet.source1 &&
    words[destination + 1] === packet.destination1
  );
}

/** Writes the addresses of a packet, each to four words. */
export function putAddresses(
  words: Int32Array,
  source: number,
  destination: number,
  packet: InnerPacket,
): void {
  words[source] = packet.source0;
  words[source + 1] = packet.source1;
  words[source + 2] = packet.source2;
  words[source + 3] = packet.source3;
  words[destination] = packet.destination0;
  words[destination + 1] = packet.destination1;
  words[destination + 2] = packet.destination2;
  words[destination + 3] = packet.destination3;
}
