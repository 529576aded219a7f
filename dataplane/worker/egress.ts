// The sockets of a worker in place of its TUN, and what they ask the packet path about devices.

import type { Batch, NetworkConfig } from '../contract.ts';
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
import type { SocketsWanted } from '../socket-contract.ts';
import { type EgressOptions, SocketEgress } from '../sockets/egress.ts';
import type { Around } from '../sockets/shared.ts';
import type { Tunnel } from '../wireguard/tunnel.ts';

/** What the packet path gives. */
export interface PathTables {
  readonly inward: Pick<InwardJudge, 'judge'>;
  readonly limits: Pick<Limits, 'isReached'>;
  readonly mtus: Pick<Mtus, 'of'>;
  readonly tunnel: Pick<Tunnel, 'atSlot' | 'drop'>;
}

/** More than any packet has. */
const UNLIMITED = 1 << 30;

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

  allowance(device: number): number {
    return this.#tables.limits.isReached(device, DOWN) ? 0 : UNLIMITED;
  }

  mayGoOn(device: number, view: DataView, offset: number, length: number): boolean {
    const { tunnel, inward } = this.#tables;
    const peer = tunnel.atSlot(device);
    if (peer === null) return false;
    inward.judge(view, offset, length, peer, this.#verdict);
    const { reason } = this.#verdict;
    // A limit, or a database that is away, holds packets up and ends nothing.
    return (
      reason === reasons.none || reason === reasons.rate_limit || reason === reasons.database_away
    );
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

/** Opens the sockets of the addon. */
export function openEgress(addon: Addon, { wanted, batches, ...rest }: EgressWanted): SocketEgress {
  const { capacity, interfaceName, ports } = wanted;
  return new SocketEgress({
    ...rest,
    ...batches,
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
  { lead, ...sizes }: Pick<EgressOptions, 'poolBytes'> & { readonly lead?: Lead } = {},
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
