// Cuts packets into fragments, as their sender or a router does.

import { chance } from './simulation.ts';
import { checksum, concat, viewOf } from './packets.ts';

const FRAGMENT = 44;

/**
 * The fragments of a packet, none larger than `mtu`. Over IPv6 the headers before `cutAt` (the
 * first byte that is not among them; 40 if left out) go with each fragment.
 */
export function fragmentsOf(
  packet: Uint8Array,
  mtu: number,
  identification = 7,
  cutAt = 40,
): Uint8Array[] {
  return packet[0]! >> 4 === 4
    ? cut4(packet, mtu, identification)
    : cut6(packet, mtu, identification, cutAt);
}

function cut4(packet: Uint8Array, mtu: number, identification: number): Uint8Array[] {
  const headBytes = (packet[0]! & 15) * 4;
  return partsOf(packet.subarray(headBytes), mtu - headBytes).map(([part, start, isLast]) => {
    const fragment = concat(packet.subarray(0, headBytes), part);
    const view = viewOf(fragment);
    view.setUint16(2, fragment.length);
    view.setUint16(4, identification);
    view.setUint16(6, (view.getUint16(6) & 0x4000) | (isLast ? 0 : 0x2000) | (start / 8));
    view.setUint16(10, 0);
    view.setUint16(10, checksum(fragment.subarray(0, headBytes)));
    return fragment;
  });
}

function cut6(
  packet: Uint8Array,
  mtu: number,
  identification: number,
  cutAt: number,
): Uint8Array[] {
  // The byte that names what comes at `cutAt`.
  let named = 6;
  for (let at = 40; at < cutAt; at += 8 * (1 + packet[at + 1]!)) named = at;
  return partsOf(packet.subarray(cutAt), mtu - cutAt - 8).map(([part, start, isLast]) => {
    const header = new Uint8Array(8);
    header[0] = packet[named]!;
    viewOf(header).setUint16(2, start | (isLast ? 0 : 1));
    viewOf(header).setUint32(4, identification);
    const fragment = concat(packet.subarray(0, cutAt), header, part);
    fragment[named] = FRAGMENT;
    viewOf(fragment).setUint16(4, fragment.length - 40);
    return fragment;
  });
}

function partsOf(
  payload: Uint8Array,
  room: number,
): (readonly [part: Uint8Array, start: number, isLast: boolean])[] {
  const size = room & ~7;
  return Array.from({ length: Math.ceil(payload.length / size) }, (_, i) => {
    const part = payload.subarray(i * size, (i + 1) * size);
    return [part, i * size, (i + 1) * size >= payload.length] as const;
  });
}

/** Whole numbers below a bound, from the seed. */
export function dice(number: number): (below: number) => number {
  const random = chance(number);
  const word = new DataView(new ArrayBuffer(4));
  return (below) => {
    random(new Uint8Array(word.buffer));
    return word.getUint32(0) % below;
  };
}

/** A list in another order. */
export function shuffled<T>(things: readonly T[], roll: (below: number) => number): T[] {
  const rest = things.slice();
  return things.map(() => rest.splice(roll(rest.length), 1)[0]!);
}
