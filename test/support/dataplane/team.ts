// Engines that share rings, as the workers of one gateway do, without sockets and TUN.

import {
  ADDRESS,
  type Batch,
  createSharedMemory,
  DESCRIPTOR_WORDS,
  GENERATION,
  KEY,
  KIND,
  KIND_FROM_PEER,
  KIND_FROM_TUN,
  MARK_HAND_OVER,
  type PacketEngine,
  type SharedMemory,
  type Team,
  WORKER,
} from '../../../dataplane/contract.ts';
import { HANDED_PER_TURN, MAX_WORKERS } from '../../../dataplane/constants.ts';
import { TypeScriptEngine } from '../../../dataplane/io/engine.ts';
import { Rings } from '../../../dataplane/io/rings.ts';
import { type Addon, NativeEngine } from '../../../dataplane/native/index.ts';
import { portablePrimitives } from '../../../dataplane/noise/primitives.ts';
import { createEndpointTable } from '../../../dataplane/wire/address.ts';
import { addon, contentOf, MTU, place } from './native.ts';

/** Endpoint slots for what is handed over. */
export const HANDED_ENDPOINTS = 128;
const ENDPOINTS = HANDED_ENDPOINTS + MAX_WORKERS * HANDED_PER_TURN;

export type EngineKind = 'typescript' | 'native';

/** Every kind of engine on this machine. */
export const engineKinds: readonly EngineKind[] =
  addon === null ? ['typescript'] : ['typescript', 'native'];

/** Opens the engine of one worker. */
export function openWorker(kind: EngineKind, team: Team): PacketEngine & { close(): void } {
  const endpoints = createEndpointTable(ENDPOINTS);
  if (kind === 'native') {
    const nothing = { udp4: -1, udp6: -1, tun: -1, tunTakesUdp: true, mtu: MTU };
    const options = { ...nothing, wake: team.wakes[team.self] ?? -1 };
    const parts = [addon as Addon, portablePrimitives, endpoints, ENDPOINTS] as const;
    return new NativeEngine(...parts, options, team, HANDED_ENDPOINTS);
  }
  const links = { sendDatagram: () => undefined, writePacket: () => undefined };
  const rings = new Rings(team, endpoints, HANDED_ENDPOINTS);
  return new TypeScriptEngine(portablePrimitives, endpoints, MTU, links, { rings });
}

/** The engines of a gateway with as many workers as kinds are named. */
export function openTeam(
  kinds: readonly EngineKind[],
  memory: SharedMemory = createSharedMemory(kinds.length),
): (PacketEngine & { close(): void })[] {
  const wakes = kinds.map(() => -1);
  return kinds.map((kind, self) => openWorker(kind, { self, size: kinds.length, memory, wakes }));
}

/** What is handed over, as a test writes and reads it. */
export interface Handed {
  readonly kind: number;
  readonly bytes: Uint8Array;
  readonly peer?: number;
  readonly generation?: number;
  /** Endpoint slot of the sender. */
  readonly address?: number;
}

/** Marks one thing in the batch of packets for `worker`. */
export function mark(batch: Batch, i: number, worker: number, handed: Handed): void {
  const { kind, bytes, peer = 0, generation = 0, address = 0 } = handed;
  const key = { slot: peer, generation };
  place(batch, i, bytes, { mark: MARK_HAND_OVER, key, address });
  batch.descriptors[i * DESCRIPTOR_WORDS + KIND] = kind;
  batch.descriptors[i * DESCRIPTOR_WORDS + WORKER] = worker;
}

/** Hands things over one after the other, as one batch each; returns how many found no room. */
export function handOver(engine: PacketEngine, worker: number, all: readonly Handed[]): number {
  let lost = 0;
  for (const handed of all) {
    mark(engine.packets, 0, worker, handed);
    lost += engine.handOver(engine.packets);
    engine.packets.count = 0;
  }
  return lost;
}

/** What a batch of another worker holds. */
export function contents(batch: Batch): Handed[] {
  return Array.from({ length: batch.count }, (_, i) => {
    const d = batch.descriptors.subarray(i * DESCRIPTOR_WORDS);
    const kind = d[KIND]!;
    const isPacket = kind === KIND_FROM_TUN || kind === KIND_FROM_PEER;
    return {
      kind,
      bytes: contentOf(batch, i),
      peer: d[KEY]!,
      generation: d[GENERATION]!,
      ...(isPacket ? {} : { address: d[ADDRESS]! }),
    };
  });
}

/** Takes all that `worker` handed over, part after part, and gives the memory back. */
export function takeAll(engine: PacketEngine, worker: number): Handed[] {
  const taken: Handed[] = [];
  for (;;) {
    engine.takeHanded(worker);
    const batch = engine.handed[worker]!;
    if (batch.count === 0) return taken;
    taken.push(...contents(batch));
    engine.freeHanded(worker);
  }
}
