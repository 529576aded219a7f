// Packets as a kernel hands them out at the TUN, sealed by one engine and opened by another.

import { LENGTH, OFFSET, MARK_OPEN, MARK_SEAL } from '../../../dataplane/contract.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import { contentOf, setMarks, NativeBench, type NativeBenchOptions, place } from './native.ts';
import { counting, tcp, type TcpFields, udp, type UdpFields, viewOf } from './packets.ts';

export const KEY = counting(32, 3);
export const ACK = 0x10;
export const v4 = { source: '192.0.2.7', destination: '10.0.0.2' };

/** Flags beyond those of every segment. */
export interface Ends {
  first?: number;
  last?: number;
}

/** Segments of one TCP flow, `sizes` bytes of payload each, as they would arrive one by one. */
export function tcpSegments(
  sizes: readonly number[],
  fields: Partial<TcpFields> = {},
  ends: Ends = {},
): Uint8Array[] {
  let sequence = fields.sequence ?? 1_000;
  return sizes.map((size, i) => {
    const first = i === 0 ? (ends.first ?? 0) : 0;
    const last = i === sizes.length - 1 ? (ends.last ?? 0) : 0;
    const segment = tcp({
      ...v4,
      ...fields,
      flags: (fields.flags ?? ACK) | first | last,
      sequence,
      identification: ((fields.identification ?? 500) + i) & 0xffff,
      data: counting(size, i),
    });
    sequence = (sequence + size) >>> 0;
    return segment;
  });
}

export function udpDatagrams(
  sizes: readonly number[],
  fields: Partial<UdpFields> = {},
): Uint8Array[] {
  return sizes.map((size, i) =>
    udp({
      ...v4,
      ...fields,
      identification: ((fields.identification ?? 500) + i) & 0xffff,
      data: counting(size, i),
    }),
  );
}

/** A bench with one key for both ways. */
export function withBench(
  native: Addon,
  options: NativeBenchOptions,
  body: (bench: NativeBench, key: { slot: number; generation: number }) => void,
): void {
  const bench = new NativeBench(native, options);
  try {
    const key = bench.engine.installKey(KEY, KEY, 77)!;
    bench.listener.installKey(KEY, KEY, 77);
    body(bench, key);
  } finally {
    bench.close();
  }
}

/** Reads what was fed, and seals all of it for TARGET. */
export function sealAll(bench: NativeBench, key: { slot: number; generation: number }): void {
  const { engine } = bench;
  engine.readTun();
  const { packets } = engine;
  for (let i = 0; i < packets.count; i++) {
    const at = i * 8;
    setMarks(packets, i, {
      mark: MARK_SEAL,
      key,
      offset: packets.descriptors[at + OFFSET]!,
      length: packets.descriptors[at + LENGTH]!,
    });
  }
  engine.seal(packets);
}

/** Opens datagrams; inner packets without padding. */
export function opened(bench: NativeBench, datagrams: readonly Uint8Array[]): Uint8Array[] {
  const { listener } = bench;
  return datagrams.map((datagram) => {
    listener.datagrams.count = 0;
    place(listener.datagrams, 0, datagram, {
      mark: MARK_OPEN,
      key: { slot: 0, generation: 0 },
    });
    listener.open(listener.datagrams);
    const packet = contentOf(listener.datagrams, 0);
    const view = viewOf(packet);
    return packet.slice(0, packet[0]! >> 4 === 4 ? view.getUint16(2) : 40 + view.getUint16(4));
  });
}

export const full = (count: number, size: number): number[] =>
  Array.from({ length: count }, () => size);
export const segment = tcpSegments([900, 900]);
