// Connections of devices to the gateway's own address in the tunnel: their host is a listener of
// this process. Nothing is connected to it, by loopback or else: the worker has one end of a pair,
// and the listener is given the other one, with the device's address.

import type { DoorConnection } from '../contract.ts';
import { reasons } from '../reasons.ts';
import { PAIR_END } from '../socket-contract.ts';
import type { Ends } from '../tcp/table.ts';
import { formatAddress } from '../wire/address.ts';
import type { Around, Shared } from './shared.ts';

/** How long a device waits that has too many connections on the way to listeners. */
export const KNOCK_MS = 20;
/** How long a device may take for what a listener has left that is gone. */
export const GONE_MS = 300_000;
/** What may wait in each direction. */
const ROOM_BYTES = 65_536;

type Doors = Pick<Shared, 'sockets' | 'around' | 'budgets'>;

/** Whether a connection leads to the gateway's own address. */
export function isToDoor(around: Pick<Around, 'isGateway'>, { isIpv6, words }: Ends): boolean {
  return around.isGateway(isIpv6 ? 6 : 4, words);
}

/** Opens a pair and gives the listener its end; returns the handle of the other end, or 0. */
export function openDoor({ sockets, around, budgets }: Doors, device: number, ends: Ends): number {
  const isTaken = budgets.take(device);
  const handle = isTaken ? sockets.openPair(ROOM_BYTES) : 0;
  if (handle > 0) {
    around.arrived(arrivalOf(ends, sockets.error[PAIR_END]!), device);
    return handle;
  }
  if (isTaken) budgets.give(device);
  around.drop(reasons.egress_full);
  return 0;
}

function arrivalOf({ isIpv6, words }: Ends, descriptor: number): DoorConnection {
  const address = new DataView(new ArrayBuffer(isIpv6 ? 16 : 4));
  for (let i = 0; i < address.byteLength / 4; i++) address.setInt32(4 * i, words[4 + i]!);
  return {
    port: words[8]! >>> 16,
    descriptor,
    address: formatAddress(new Uint8Array(address.buffer)),
    sourcePort: words[8]! & 0xffff,
  };
}
