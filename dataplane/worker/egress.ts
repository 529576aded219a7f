// The sockets of a worker in place of its TUN, or beside it, and what they ask the packet path
// about devices.

import type { Batch, DoorConnection, NetworkConfig, PacketEngine } from '../contract.ts';
import { NativeHostSockets } from '../io/host-sockets.ts';
import type { TwinSockets } from '../io/twin.ts';
import { type Lead, TwinHostSockets } from '../io/twin-sockets.ts';
import type { Addon } from '../native/index.ts';
import type { Random } from '../noise/handshake.ts';
import type { InwardJudge } from '../path/inward.ts';
import { DOWN, type Limits } from '../path/limits.ts';
import type { Mtus } from '../path/mtu.ts';
import { Verdict } from '../path/verdict.ts';
import { reasons } from '../reasons.ts';
import type { Sanity } from '../sanity.ts';
import type { SocketsWanted } from '../socket-contract.ts';
import { type EgressOptions, SocketEgress } from '../sockets/egress.ts';
import { type Around, AWAITS_SESSION } from '../sockets/shared.ts';
import type { Sender } from '../wireguard/send.ts';
import { isOwn, type Tunnel } from '../wireguard/tunnel.ts';
import type { Arriving } from './arriving.ts';

/** Where packets go that are for no peer. */
export interface WaysOut {
  /** False: only peers and the gateway's own address can be reached. */
  readonly hasTun: boolean;
  /** False: the host refuses IPv4 packets from the TUN that have its own address. */
  readonly takesOwnSource?: boolean | undefined;
  /** Whether pasta is behind the TUN, which drops fragments; left out: no. */
  readonly joinsForTun?: boolean;
  /** The sockets of this process; left out or null: there are none. */
  readonly egress?: SocketEgress | null;
  /** They only take what is for the gateway's own address; left out: false, they leave the host. */
  readonly isForDoors?: boolean;
  /** Takes connections of devices to listeners of this process (`setDoors`). */
  readonly arriving?: Pick<Arriving, 'mayTake' | 'arrived'>;
}

/** Whether packets of devices leave by sockets for networks beyond the tunnel. */
export function leavesBySockets({ egress = null, isForDoors = false }: Partial<WaysOut>): boolean {
  return egress !== null && !isForDoors;
}

/** Whether the host opens flows to devices: by a TUN, and never by sockets. */
export function hasOpenersBeyond({ egress = null, hasTun, isForDoors = false }: WaysOut): boolean {
  return egress === null || (hasTun && isForDoors);
}

/** What the packet path gives. */
export interface PathTables {
  readonly inward: Pick<InwardJudge, 'judge'>;
  readonly limits: Pick<Limits, 'left'>;
  readonly mtus: Pick<Mtus, 'of'>;
  readonly tunnel: Pick<Tunnel, 'atSlot' | 'drop'>;
  readonly sender: Pick<Sender, 'hasToWait'>;
  readonly engine: Pick<PacketEngine, 'sendRoom'>;
  readonly sanity: Pick<Sanity, 'isGateway'>;
  readonly arriving?: WaysOut['arriving'];
}

/** More than any packet has. */
const UNLIMITED = 1 << 30;
/** One segment: it lets the gateway ask for a session. */
const ONE_SEGMENT = 1;

/** Answers the sockets from the tables of a packet path. */
export class PathAround implements Around {
  readonly #tables: PathTables;
  readonly #verdict = new Verdict();

  constructor(tables: PathTables) {
    this.#tables = tables;
  }

  mtuOf(device: number): number {
    return this.#tables.mtus.of(device);
  }

  allowance(device: number, now: number): number {
    const { tunnel, sender, limits } = this.#tables;
    const peer = tunnel.atSlot(device);
    const left = Math.min(UNLIMITED, limits.left(device, DOWN));
    if (peer === null || !isOwn(peer) || !sender.hasToWait(peer, now)) return left;
    if (left === 0) return 0;
    return peer.staged.length === 0 ? ONE_SEGMENT : AWAITS_SESSION;
  }

  sendRoom(): number {
    return this.#tables.engine.sendRoom();
  }

  refusalOf(device: number, view: DataView, offset: number, length: number): number {
    const { tunnel, inward } = this.#tables;
    const peer = tunnel.atSlot(device);
    if (peer === null) return reasons.peer_gone;
    inward.judge(view, offset, length, peer, this.#verdict);
    const { reason } = this.#verdict;
    // A limit, or a database that is away, holds packets up and ends nothing.
    const holdsUp = reason === reasons.rate_limit || reason === reasons.database_away;
    return holdsUp ? reasons.none : reason;
  }

  isGateway(version: number, words: Iterable<number>): boolean {
    return this.#tables.sanity.isGateway(version, words);
  }

  mayArrive(device: number): boolean {
    return this.#tables.arriving?.mayTake(device) ?? false;
  }

  arrived(connection: DoorConnection, device: number): void {
    this.#tables.arriving?.arrived(connection, device);
  }

  drop(reason: number): void {
    this.#tables.tunnel.drop(reason);
  }
}

/** What a worker says about its sockets. */
export interface EgressWanted {
  readonly wanted: SocketsWanted;
  readonly batches: { readonly datagrams: Batch; readonly packets: Batch };
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly random: Random;
  /** How many peers there may be. */
  readonly devices: number;
}

/** Smaller tables and memory, for tests and the warm-up. */
type Sizes = Pick<EgressOptions, 'poolBytes' | 'connections'>;

/** Memory of connections to the gateway's own address alone. */
const DOOR_SIZES: Sizes = { poolBytes: 16 * 1_048_576, connections: 8_191 };

/** Opens the sockets of the addon. */
export function openEgress(
  addon: Addon,
  { wanted, batches, ...rest }: EgressWanted,
  sizes: Sizes = {},
): SocketEgress {
  const { capacity, interfaceName, ports, isForDoors = false } = wanted;
  return new SocketEgress({
    ...rest,
    ...batches,
    ...(isForDoors ? DOOR_SIZES : {}),
    ...sizes,
    capacity,
    ports,
    cuts: true,
    openSockets: (arenas, eventsMax) =>
      new NativeHostSockets(addon, { capacity, interfaceName, arenas, eventsMax }),
  });
}

/** The sockets of node:net and node:dgram. */
export interface TwinEgress extends TwinSockets {
  readonly substitute: SocketEgress;
}

/** Opens the sockets of node:net and node:dgram. `lead`: where connections are led in tests. */
export function openTwinEgress(
  { wanted, batches, ...rest }: EgressWanted,
  { lead, ...sizes }: Sizes & { readonly lead?: Lead } = {},
): TwinEgress {
  const { capacity, interfaceName, ports } = wanted;
  let opened: TwinHostSockets | null = null;
  const substitute = new SocketEgress({
    ...rest,
    ...batches,
    ...sizes,
    capacity,
    ports,
    cuts: false,
    openSockets: (arenas, eventsMax) => {
      const options = { capacity, interfaceName, arenas, eventsMax };
      opened = new TwinHostSockets(options, () => egress.onEvents(), lead);
      return opened;
    },
  });
  const egress: TwinEgress = { substitute, batches, sockets: opened!, onEvents: () => undefined };
  return egress;
}
